// What happened to a task and its jobs, in the order of the times.

import type { Task } from '../model.ts';
import { words } from '../words.ts';

export interface Happened {
  at: string;
  who: string;
  state: string;
  text: string;
}

type Entry = NonNullable<Task['history']>[number];

/** That a remote task got its id is no news to its reader. */
const isNews = (one: Entry, place: number, all: readonly Entry[]): boolean => one.state !== all[place - 1]?.state || one.message !== all[place - 1]?.message;

export function happened({ history, jobs, failedAttempts }: Pick<Task, 'history' | 'jobs' | 'failedAttempts'>): Happened[] {
  const entry = (who: string) => ({ at, state, message }: Entry): Happened => ({ at, who, state, text: message ?? '' });
  const own = (history ?? []).map(entry(''));
  const theirs = jobs.flatMap((job) => (job.history ?? []).filter(isNews).map(entry(job.agentName || job.agentType || '')));
  const failed = (failedAttempts ?? []).map(({ at, attempt, reason }): Happened => ({
    at, who: `${words.attempt} ${attempt}`, state: 'failed', text: reason ?? words.failedAttempt,
  }));
  const told: Happened[] = [];
  for (const one of [...own, ...theirs, ...failed].sort((left, right) => left.at.localeCompare(right.at))) {
    const before = told.at(-1);
    // A task says in its agent's words what that does: once is enough.
    const isSaid = before !== undefined && one.text !== '' && before.text === one.text && before.state === one.state && !(before.who && one.who);
    if (isSaid) before.who ||= one.who;
    else told.push(one);
  }
  return told;
}
