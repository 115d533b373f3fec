// The timeline of a task, and the task as it was at each change of it.

import { useState } from 'react';
import { Markdown } from '../markdown/markdown.tsx';
import { isOver, type Task } from '../model.ts';
import { Failed } from '../parts/states.tsx';
import { useTaskAt } from '../queries.ts';
import { say, span, stateOf, timeOfDay, wholeTime, words } from '../words.ts';
import { Badge } from './badge.tsx';
import { happened } from './happened.ts';
import { Outcome } from './outcome.tsx';
import { PlanSteps } from './plan.tsx';

/** How long each took since the one before it, and in a lane of its own who did it. */
export function Entries({ task, say: name = stateOf }: { task: Pick<Task, 'history' | 'jobs' | 'failedAttempts'>; say?: (state: string) => string }) {
  const all = happened(task);
  const lanes = [...new Set(all.map(({ who }) => who))].filter(Boolean);
  return (
    <ol className="timeline">
      {all.map((entry, place) => (
        <li key={place} data-state={entry.state} data-lane={lanes.length > 1 ? (lanes.indexOf(entry.who) + 1) % 6 : 0}>
          <time dateTime={entry.at} title={wholeTime(entry.at)}>{timeOfDay(entry.at)}{place > 0 && all[place - 1]?.at !== entry.at ? <small>+{span(all[place - 1]?.at ?? entry.at, entry.at)}</small> : null}</time>
          <div>
            <Badge state={entry.state} say={name} /> {entry.who ? <strong>{entry.who}</strong> : null}
            {entry.text ? <Markdown text={entry.text} /> : null}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** The task as it was: its state, its jobs, what it had brought. */
function Past({ task }: { task: Task }) {
  return (
    <div className="past">
      <p className="past-top"><Badge state={task.status} /> <span>{words.asOf} <time dateTime={task.updatedAt}>{wholeTime(task.updatedAt)}</time></span></p>
      {task.plan ? <PlanSteps plan={task.plan} jobs={task.jobs} /> : task.jobs.length > 0 ? (
        <ul className="card-jobs">{task.jobs.map((job) => <li key={job.number}><span>{job.agentName || job.agentType}</span><Badge state={job.state} /></li>)}</ul>
      ) : null}
      {isOver(task.status) || task.statusMessage || task.artifacts.length > 0 ? <Outcome task={task} /> : <p className="soft">{words.noResult}</p>}
    </div>
  );
}

/** The server shows no later ones. */
const MOST = 1000;

export function Timeline({ task }: { task: Task }) {
  const latest = Math.min(task.rev, MOST);
  const [rev, setRev] = useState<number | null>(null);
  const chosen = rev === null ? latest : Math.min(rev, latest);
  const isPast = rev !== null && chosen < task.rev;
  const { data, error, refetch } = useTaskAt(task.id, chosen, isPast);
  const go = (to: number) => setRev(to >= latest ? null : Math.max(1, to));
  return (
    <>
      {latest > 1 ? (
        <div className="travel">
          <label>
            <span>{words.travel}</span>
            <input type="range" min={1} max={latest} value={chosen} aria-valuetext={say('revisionOf', { rev: chosen, latest })} onChange={({ target }) => go(Number(target.value))} />
          </label>
          <div className="travel-row">
            <button type="button" disabled={chosen <= 1} onClick={() => go(chosen - 1)}>{words.earlierRev}</button>
            <output>{say('revisionOf', { rev: chosen, latest })}</output>
            <button type="button" disabled={chosen >= latest} onClick={() => go(chosen + 1)}>{words.laterRev}</button>
          </div>
        </div>
      ) : null}
      {isPast && error && !data ? <Failed error={error} retry={() => void refetch()} /> : null}
      {isPast && data ? <Past task={data} /> : null}
      <Entries task={isPast && data ? data : task} />
    </>
  );
}
