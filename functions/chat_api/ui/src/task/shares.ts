// What each agent of a task has said and brought.

import type { Artifact, Job, Task } from '../model.ts';

export interface Share {
  job: Job;
  text: string;
  artifacts: Artifact[];
}

/** The words of artifacts. */
export const textOf = (artifacts: readonly Artifact[]): string =>
  artifacts.map(({ parts }) => parts.map(({ text }) => text ?? '').join('')).filter(Boolean).join('\n\n').trim();

/** By job, the last of each agent's tries: what stands in the task's answer is said there, and named here. */
export function sharesOf({ jobs, artifacts }: Pick<Task, 'jobs' | 'artifacts'>): Share[] {
  return jobs.map((job) => {
    const own = (job.artifacts ?? []).map((one) => artifacts.find(({ artifactId }) => artifactId === one.sameAs) ?? one);
    return { job, text: textOf(own) || job.statusMessage?.trim() || '', artifacts: own };
  });
}

/** So much of a text tells it from others. */
const BEGIN = 80;

/** What a text says beside the shares, which it may repeat one after the other: with the names before them, and cut at its end. */
export function beside(says: string, shares: readonly Share[]): string {
  return shares.reduce((rest, { job, text }) => {
    const at = text ? rest.indexOf(text.slice(0, BEGIN)) : -1;
    if (at < 0) return rest;
    const named = `${job.agentName ?? ''}: `;
    const from = rest.slice(0, at).endsWith(named) ? at - named.length : at;
    const end = rest.startsWith(text, at) ? at + text.length : rest.length;
    return (rest.slice(0, from) + rest.slice(end)).trim();
  }, says);
}

/** A text of the chat is cut at its end where the task has more of it. */
export function wholeOf(says: string, artifacts: readonly Artifact[]): string {
  const whole = textOf(artifacts);
  return says.endsWith('…') && whole.startsWith(says.slice(0, -1).trimEnd()) ? whole : says;
}

/** Fewer items are no list. */
const LIST = 3;

/** A text without the items of its lists, and without the colons that lead to them. */
export function sentencesOf(text: string): string {
  const lines = text.split('\n');
  const said = lines.filter((line) => !/^\s*(?:[-*•]|\d{1,3}[.)])\s/.test(line));
  return lines.length - said.length >= LIST ? said.join('\n').replace(/[:：]$/gm, '').replace(/\n{3,}/g, '\n\n').trim() : text;
}
