// What happened to a task and its jobs, in the order of the times.

import type { Task } from '../model.ts';
import { timeOfDay, wholeTime, words } from '../words.ts';
import { Badge } from './badge.tsx';

interface Happened {
  at: string;
  who: string;
  state: string;
  text: string;
}

export function happened(task: Task): Happened[] {
  const own = (task.history ?? []).map(({ at, state, message }) => ({ at, who: '', state, text: message ?? '' }));
  const jobs = task.jobs.flatMap((job) =>
    (job.history ?? []).map(({ at, state, message }) => ({ at, who: job.agentName || job.agentType || '', state, text: message ?? '' })),
  );
  const failed = (task.failedAttempts ?? []).map(({ at, attempt, reason }) => ({
    at, who: `${words.attempt} ${attempt}`, state: 'failed', text: reason ?? words.failedAttempt,
  }));
  return [...own, ...jobs, ...failed].sort((one, two) => one.at.localeCompare(two.at));
}

export function Timeline({ task }: { task: Task }) {
  return (
    <ol className="timeline">
      {happened(task).map((entry, place) => (
        <li key={place} data-state={entry.state}>
          <time dateTime={entry.at} title={wholeTime(entry.at)}>{timeOfDay(entry.at)}</time>
          <div>
            <Badge state={entry.state} /> {entry.who ? <strong>{entry.who}</strong> : null}
            {entry.text ? <p>{entry.text}</p> : null}
          </div>
        </li>
      ))}
    </ol>
  );
}
