// One task, opened: its result, what happened, and all that is known of it.

import { useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError } from '../api.ts';
import { Linked } from '../markdown/markdown.tsx';
import { cards } from '../live/cards.ts';
import { live } from '../live/live.ts';
import { cardOf, isActive, isOver, mayRetry, type Task } from '../model.ts';
import { Close } from '../parts/icons.tsx';
import { Problem } from '../parts/doing.tsx';
import { Failed, Gone, Loading } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Time } from '../parts/time.tsx';
import { useListedChat, useTask } from '../queries.ts';
import { Tree } from '../result/tree.tsx';
import { span, words } from '../words.ts';
import { Instead, useActions } from './act.tsx';
import { Badge } from './badge.tsx';
import { Clauses } from './clauses.tsx';
import { nameOf } from './card.tsx';
import { Consent } from './consent.tsx';
import { PlanSteps } from './plan.tsx';
import { Outcome } from './outcome.tsx';
import { RepliesThere } from './replies.tsx';
import { ShareButton } from './share.tsx';
import { Timeline } from './timeline.tsx';
import { Wire } from './wire.tsx';

function Facts({ task }: { task: Task }) {
  return (
    <dl className="facts">
      <dt>{words.prompt}</dt><dd>{task.prompt}</dd>
      <dt>{words.started}</dt><dd><Time at={task.createdAt} /></dd>
      {isOver(task.status) ? <><dt>{words.lasted}</dt><dd>{span(task.createdAt, task.updatedAt)}</dd></> : null}
      {task.traceId ? <><dt>{words.trace}</dt><dd><code>{task.traceId}</code></dd></> : null}
    </dl>
  );
}

function Actions({ task }: { task: Task }) {
  const { run, isBusy, problem } = useActions(task.id);
  const { plan } = task;
  return (
    <div className="panel-actions">
      {plan && !plan.isApproved && task.status === 'input-required' ? (
        <button type="button" className="primary in-card" disabled={isBusy} onClick={() => void run('start', { plan: plan.hash })}>{words.start}</button>
      ) : null}
      {mayRetry(task.status) ? <button type="button" disabled={isBusy} onClick={() => void run('retry')}>{words.retry}</button> : null}
      {isOver(task.status) ? <Instead asked={[task, ...task.jobs]} isBusy={isBusy} ask={(model) => void run('retry', { model })} /> : null}
      {isOver(task.status) ? null : <button type="button" className="in-card" disabled={isBusy} onClick={() => void run('cancel')}>{words.cancel}</button>}
      <ShareButton task={task} />
      <Problem text={problem} />
    </div>
  );
}

function Whole({ task, chat, close }: { task: Task; chat: string | null; close: string }) {
  const [tab, setTab] = useState('result');
  const listed = useListedChat(({ contextId }) => contextId === task.contextId)?.id ?? null;
  const home = chat ?? listed;
  const title = useRef<HTMLHeadingElement>(null);
  const name = nameOf({ ...task, title: task.prompt });
  useEffect(() => {
    const card = cardOf(task);
    cards.learn(card);
    if (isActive(card.state)) live.wake();
  }, [task]);
  useEffect(() => title.current?.focus(), [task.id]);
  return (
    <>
      <header className="panel-top">
        <h2 ref={title} tabIndex={-1}>{name}</h2>
        <Badge state={task.status} />
        <Link className="icon-button" href={close} aria-label={words.close}><Close /></Link>
      </header>
      <Facts task={task} />
      {chat === null && home !== null ? <p className="panel-chat"><Link href={`/chats/${encodeURIComponent(home)}`}>{words.inChat}</Link></p> : null}
      <div className="in-card"><Consent asked={task} /></div>
      <Actions task={task} />
      <Clauses clauses={task.clauses} plan={task.plan} />
      {task.plan ? <PlanSteps plan={task.plan} jobs={task.jobs} /> : null}
      {home !== null ? <div className="in-card"><RepliesThere card={cardOf(task)} chat={home} /></div> : null}
      <Tabs
        label={name}
        chosen={tab}
        choose={setTab}
        tabs={[
          { id: 'result', name: words.result, show: () => <Outcome task={task} /> },
          { id: 'timeline', name: words.timeline, show: () => <Timeline task={task} /> },
          { id: 'raw', name: words.raw, show: () => <><Wire task={task} /><Tree value={task} /></> },
        ]}
      />
    </>
  );
}

/** `chat` is the one beside it, where one is. */
export function Panel({ id, chat, close }: { id: string; chat: string | null; close: string }) {
  const { data, error, isPending, refetch } = useTask(id);
  const [, navigate] = useLocation();
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !document.querySelector('dialog[open]')) navigate(close);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [close, navigate]);
  return (
    <aside className="panel" data-beside={chat === null ? undefined : 'card'} aria-label={words.task}>
      {data ? null : (
        <header className="panel-top">
          <h2>{words.task}</h2>
          <Link className="icon-button" href={close} aria-label={words.close}><Close /></Link>
        </header>
      )}
      {isPending ? <Loading /> : null}
      {error instanceof ApiError && error.status === 404 ? <Gone /> : null}
      {error && !(error instanceof ApiError && error.status === 404) ? <Failed error={error} retry={() => void refetch()} /> : null}
      {data ? <Linked links={data.links}><Whole task={data} chat={chat} close={close} /></Linked> : null}
    </aside>
  );
}
