// "See it survive": a report whose workers are killed in the middle, on the local system only. What is shown is read from the
// task's own log.

import { useSyncExternalStore } from 'react';
import { get } from './api.ts';
import type { Session } from './chat/session.ts';
import { cards } from './live/cards.ts';
import { teller } from './parts/teller.ts';
import { isOver, Task } from './model.ts';
import { say, span, words } from './words.ts';

/** What is asked of the host for it: as agents' own examples, in English. */
export const PROMPT = 'Write a report about resilience';

/** A deployed system has other names, and nobody to kill. */
export const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);

/** The kill comes in the middle of the work: so long after the task's first sign of it. */
const INTO = 1500;
/** Workers rest between two steps of a report: the next moment of work is waited for. */
const AGAIN = 60;

interface Seen {
  text: string;
  isDone: boolean;
}

const shown = new Map<string, Seen>();
const changes = teller();

function show(chat: string, text: string, isDone = false): void {
  shown.set(chat, { text, isDone });
  changes.tell();
}

const pause = (duration: number) => new Promise((resolve) => setTimeout(resolve, duration));

async function kill(): Promise<number> {
  const response = await fetch('/local/workers/kill', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  if (!response.ok) throw new Error(`${response.status}`);
  const { killed }: { killed: number } = await response.json();
  return killed;
}

const LOOK = 100;
const PATIENCE = 60_000;

/** Looks until there is something, or for too long. */
async function until<T>(look: () => T | undefined): Promise<T> {
  for (let waited = 0; waited < PATIENCE; waited += LOOK) {
    const found = look();
    if (found !== undefined) return found;
    await pause(LOOK);
  }
  throw new Error('too long');
}

const stateOf = (id: string): string => cards.find(id)?.state ?? '';

/** Kills the workers of the chat's task while they work on it, and tells how it ended. */
async function run(session: Session): Promise<void> {
  const id = await until(() => session.chat.messages.flatMap(({ parts }) => parts).find((part) => part.type === 'data-task')?.data.taskId);
  await until(() => (['', 'submitted'].includes(stateOf(id)) ? undefined : true));
  await pause(INTO);
  let killed = 0;
  let at = new Date().toISOString();
  while (killed === 0) {
    if (isOver(stateOf(id))) return show(session.id, words.surviveMissed, true);
    at = new Date().toISOString();
    killed = await kill();
    if (killed === 0) await pause(AGAIN);
  }
  show(session.id, say('surviveKilled', { count: killed }));
  await until(() => (isOver(stateOf(id)) ? true : undefined));
  const task = await get(`tasks/${encodeURIComponent(id)}`, Task);
  const ends = (task.history ?? []).filter(({ state }) => state === 'completed').length;
  show(session.id, ends === 1 && task.artifacts.length === 1 ? say('surviveDone', { span: span(at, task.updatedAt) }) : words.surviveOdd, true);
}

export function survive(session: Session): void {
  show(session.id, words.surviveWaits);
  run(session).catch(() => show(session.id, words.failed, true));
}

export function Survival({ chat }: { chat: string }) {
  const seen = useSyncExternalStore(changes.hear, () => shown.get(chat));
  if (!seen) return null;
  return <p className={seen.isDone ? 'survival done' : 'survival'} role="status">{seen.text}</p>;
}
