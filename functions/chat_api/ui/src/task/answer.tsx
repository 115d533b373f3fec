// What a task says, and what it brought: agent by agent where several worked on it. The words stand first, and data folds under them.

import { useEffect, useRef, useState } from 'react';
import { Linked, Markdown } from '../markdown/markdown.tsx';
import { type Artifact, type Card, isOver } from '../model.ts';
import { Boundary } from '../parts/states.tsx';
import { useTask } from '../queries.ts';
import { File } from '../result/file.tsx';
import { Data } from '../result/result.tsx';
import { heading, type Shape, shapeOf } from '../result/shape.ts';
import { span, words } from '../words.ts';
import { Badge } from './badge.tsx';
import { beside, type Share, sentencesOf, sharesOf, wholeOf } from './shares.ts';

/** So far ahead of the eye. */
const AHEAD = '300px';

/** What has just finished, or comes last, is looked at, though its answer may have pushed it out of sight. */
const FRESH = 60_000;

function useSeen(at: string, isNewest: boolean) {
  const place = useRef<HTMLDivElement>(null);
  const [isSeen, see] = useState(() => isNewest || Date.now() - Date.parse(at) < FRESH);
  useEffect(() => {
    if (isSeen || !place.current) return;
    const observer = new IntersectionObserver((entries) => see(entries.some((one) => one.isIntersecting)), { root: place.current.closest('.log'), rootMargin: AHEAD });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return { place, isSeen };
}

/** Most files of one card; its panel has all of them. */
const FILES = 4;

/** One day or one row is said better in words. */
const isWorthIt = (shape: Shape): boolean =>
  (shape.kind === 'forecast' && shape.forecast.places.flatMap(({ days }) => days).length > 1) || (shape.kind === 'table' && shape.rows.length > 1 && shape.rows.length <= 20);

/** Words, then what was brought. Where that is drawn, the words that list it fold, and the sentences stay; `isOne` of several, so does what is drawn. */
function Told({ text, artifacts, isOne }: { text: string; artifacts: readonly Artifact[]; isOne?: boolean }) {
  const parts = artifacts.flatMap(({ name, parts }) => parts.map((part) => ({ name, part, shape: part.data === undefined ? null : shapeOf(part.data) })));
  const data = parts.filter(({ shape }) => shape !== null && isWorthIt(shape));
  const files = parts.filter(({ part: { raw, url } }) => typeof raw === 'string' || typeof url === 'string').slice(0, FILES);
  const said = data.length > 0 ? sentencesOf(text) : text;
  return (
    <>
      {said ? <Markdown text={said} /> : null}
      {data.map(({ name, part, shape }, place) => (
        <details key={place} className="told" open={!isOne}>
          <summary>{name || (shape?.kind === 'table' && heading(shape.name)) || words.result}</summary>
          <Boundary value={part.data}><Data value={part.data} isBrief /></Boundary>
        </details>
      ))}
      {said === text ? null : <details className="told"><summary>{words.asText}</summary><Markdown text={text} /></details>}
      {files.map(({ part }, place) => <Boundary key={place} value={part}><File part={part} /></Boundary>)}
    </>
  );
}

/** What one of several agents did. */
export function Part({ share: { job, text, artifacts }, children }: { share: Share; children?: React.ReactNode }) {
  const name = job.agentName || job.agentType || words.agent;
  return (
    <section className="part" aria-label={name}>
      <h3>
        {name} {job.createdAt && job.updatedAt && isOver(job.state) ? <span className="card-age">{span(job.createdAt, job.updatedAt)}</span> : null}
        <Badge state={job.state} />
      </h3>
      {children ?? <Told text={text} artifacts={artifacts} isOne />}
    </section>
  );
}

export function Answer({ card, says, isNewest }: { card: Card; says: string; isNewest: boolean }) {
  const { place, isSeen } = useSeen(card.updatedAt ?? '', isNewest);
  const isShared = (card.jobs?.length ?? 0) > 1;
  const brought = card.state === 'completed' || (isShared && (card.jobs ?? []).some(({ state }) => isOver(state)));
  const { data: task, refetch } = useTask(card.taskId, isSeen && brought);
  // What changes while this page's own stream is open comes by that, and as no news.
  const isOld = Boolean(task?.updatedAt && card.updatedAt && Date.parse(task.updatedAt) < Date.parse(card.updatedAt));
  useEffect(() => {
    if (isOld) void refetch();
  }, [isOld, card.updatedAt, refetch]);
  const shares = task && isShared ? sharesOf(task).filter(({ job, text, artifacts }) => isOver(job.state) && (text || artifacts.length > 0)) : [];
  // A plan says itself what it asks, and a card who asks for consent to what.
  const isSaid = (card.plan && !card.plan.isApproved && card.state === 'input-required') || (card.consent && card.state === 'auth-required' && !isShared);
  const text = isSaid ? '' : shares.length > 0 ? beside(says, shares) : task ? wholeOf(says, task.artifacts) : says;
  return (
    <div ref={place} className="brought">
      <Linked links={task?.links}>
        {text || brought ? <Told text={text} artifacts={(!isShared && card.state === 'completed' && task?.artifacts) || []} /> : null}
        {shares.map((share) => <Part key={share.job.number} share={share} />)}
      </Linked>
    </div>
  );
}
