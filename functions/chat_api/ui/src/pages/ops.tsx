// What a tenant's operators look after: its agents, its tasks by state, notifications that could not be delivered, what its language
// models took, and its keys. Words of users are nowhere in it.

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { z } from 'zod';
import { get, send } from '../api.ts';
import { SafeLink } from '../markdown/markdown.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Dialog, Sure } from '../parts/dialog.tsx';
import { Grid } from '../parts/grid.tsx';
import { Close } from '../parts/icons.tsx';
import { Gone, Shown } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { Task as TaskModel } from '../model.ts';
import { queries, useSession } from '../queries.ts';
import { isLink } from '../result/shape.ts';
import { useSignIn } from '../sign-in.tsx';
import { Badge } from '../task/badge.tsx';
import { Entries } from '../task/timeline.tsx';
import { count, dateOnly, dollars, lasting, daysSince, named, say, stateOfOthers, wholeTime, words } from '../words.ts';
import { Administration } from './admin.tsx';
import { Plan, PlanUsed } from './plan.tsx';

const text = z.string().nullish();

const Agent = z.looseObject({
  id: z.string(),
  name: text,
  version: text,
  types: z.array(z.string()),
  cardUrl: text,
  isOwn: z.boolean(),
  isEnabled: z.boolean().nullish(),
  isWell: z.boolean().nullish(),
  pending: z.looseObject({ pin: z.string(), changes: z.array(z.looseObject({ at: z.string(), before: text, after: text })) }).nullish(),
  checkedAt: text,
  registeredAt: text,
  reason: text,
});
type Agent = z.infer<typeof Agent>;

const Agents = z.object({ agents: z.array(Agent) });

const Took = z.looseObject({ calls: z.number(), input: z.number().nullish(), output: z.number().nullish(), cached: z.number().nullish() });
const Span = z.looseObject({ ended: z.number(), failed: z.number(), p50: z.number().nullish(), p99: z.number().nullish(), microDollars: z.number().nullish() });
const Usage = z.object({ plan: Plan.nullish(), lately: z.array(z.looseObject({ agent: z.string(), hour: Span, day: Span })).nullish(),  days: z.array(z.looseObject({ day: z.string(), used: z.number(), reserved: z.number(), models: z.record(z.string(), Took) })), tokensPerDay: z.number().nullish(), hostTokensPerDay: z.number().nullish() });

const Delivery = z.looseObject({ agent: z.string(), agentName: z.string(), taskId: z.string(), configId: z.string(), host: z.string(), attempts: z.number(), lastError: text, changedAt: z.string() });
type Delivery = z.infer<typeof Delivery>;
const Deliveries = z.object({ deliveries: z.array(Delivery), unasked: z.array(z.string()) });

const Task = z.looseObject({ taskId: z.string(), state: z.string(), agents: z.array(z.string()), createdAt: z.string(), since: z.string(), attempts: z.number(), stuck: text, reason: text });
type Task = z.infer<typeof Task>;
const Tasks = z.object({ counts: z.record(z.string(), z.number()), countedTo: z.number(), more: z.boolean(), tasks: z.array(Task) });

const Courses = TaskModel.pick({ history: true, failedAttempts: true, jobs: true });

const Key = z.looseObject({ id: z.string(), purpose: z.string(), since: text });
const Keys = z.object({ keys: z.array(Key), signingKey: text });

const keys = {
  keys: ['ops', 'keys'] as const,
  tasks: ['ops', 'tasks'] as const, agents: ['ops', 'agents'] as const, usage: ['ops', 'usage'] as const, deliveries: ['ops', 'deliveries'] as const };

function State({ agent }: { agent: Agent }) {
  if (!agent.isEnabled) return <span className="badge" data-state="canceled">{words.switchedOff}</span>;
  return <span className="badge" data-state={agent.isWell ? 'completed' : 'failed'}>{agent.isWell ? words.well : words.unwell}</span>;
}

function Row({ agent }: { agent: Agent }) {
  const { run, isBusy: running, problem } = useDoing();
  const act = (verb: string, body?: { pin: string }) => run(async () => {
    await send('POST', `ops/agents/${encodeURIComponent(agent.id)}/${verb}`, body);
    await queries.invalidateQueries({ queryKey: keys.agents });
  });
  const { pending } = agent;
  const name = agent.name || agent.types.join(', ') || agent.id;
  return (
    <li className="account">
      <div>
        <h3>{name} <State agent={agent} /></h3>
        <p className="soft">{agent.types.join(', ')}{agent.version ? ` · ${agent.version}` : ''} · {agent.isOwn ? words.ownAgent : words.platformsAgent}{agent.checkedAt ? <> · {words.lookedAt} <Time at={agent.checkedAt} /></> : null}</p>
        {agent.reason ? <p className="problem">{agent.reason}</p> : null}
        <Problem text={problem} />
        {pending ? (
          <details className="told">
            <summary>{words.cardChanged}</summary>
            <ul>{pending.changes.map(({ at, before, after }) => <li key={at}><code>{at}</code> <del>{before}</del> <ins>{after}</ins></li>)}</ul>
            {agent.isOwn ? <button type="button" disabled={running} onClick={() => void act('approve', { pin: pending.pin })} aria-label={`${words.approve}: ${name}`}>{words.approve}</button> : null}
          </details>
        ) : null}
        {agent.cardUrl ? (
          <details className="told">
            <summary>{words.card}</summary>
            <p className="where">{isLink(agent.cardUrl) ? <SafeLink href={agent.cardUrl} /> : <code>{agent.cardUrl}</code>}</p>
            {agent.registeredAt ? <p className="soft">{words.registered} <time dateTime={agent.registeredAt}>{wholeTime(agent.registeredAt)}</time></p> : null}
          </details>
        ) : null}
      </div>
      {agent.isOwn ? (
        <div className="account-ask">
          <button type="button" disabled={running} onClick={() => void act('check')} aria-label={`${words.lookAgain}: ${name}`}>{words.lookAgain}</button>
          {agent.isEnabled
            ? <Sure does={words.switchOff} to={name} disabled={running} then={() => act('disable')} />
            : <button type="button" disabled={running} onClick={() => void act('enable')} aria-label={`${words.switchOn}: ${name}`}>{words.switchOn}</button>}
        </div>
      ) : null}
    </li>
  );
}

/** A notification that its receiver did not take; it stays until somebody has it tried again, or until news come. */
function Parked({ delivery }: { delivery: Delivery }) {
  const { run, isBusy, problem } = useDoing();
  const [isDone, done] = useState(false);
  const { agent, agentName, taskId, configId, host, attempts, lastError, changedAt } = delivery;
  const replay = () => run(async () => {
    await send('POST', 'ops/deliveries/replay', { agent, taskId, configId });
    done(true);
    setTimeout(() => void queries.invalidateQueries({ queryKey: keys.deliveries }), 2000);
  });
  return (
    <li className="account">
      <div>
        <h3>{agentName} {words.toReceiver} {host}</h3>
        <p className="soft">{words.task} {agent === 'host' ? <Course id={taskId} /> : <code>{taskId}</code>} · {say('attempts', { count: attempts })} · <Time at={changedAt} /></p>
        {lastError ? <p className="problem">{lastError}</p> : null}
        <Problem text={problem} />
      </div>
      {isDone
        ? <p className="soft" role="status">{words.triedAgain}</p>
        : <button type="button" disabled={isBusy} onClick={() => void replay()} aria-label={`${words.replay}: ${agentName}, ${taskId}`}>{words.replay}</button>}
    </li>
  );
}

function ParkedDeliveries() {
  const asked = useQuery({ queryKey: keys.deliveries, queryFn: ({ signal }) => get('ops/deliveries', Deliveries, signal) });
  return (
    <>
      <h2>{words.parked}</h2>
      <Shown of={asked}>{({ deliveries, unasked }) => (
        <>
          {deliveries.length === 0 ? <p className="soft">{words.noneParked}</p> : null}
          <ul className="accounts">{deliveries.map((one) => <Parked key={`${one.agent} ${one.taskId} ${one.configId}`} delivery={one} />)}</ul>
          {unasked.length > 0 ? <p className="soft">{words.unasked} {unasked.join(', ')}</p> : null}
        </>
      )}</Shown>
    </>
  );
}

/** A count that ended early is a lower bound: of each state, where not all unfinished tasks were read. */
function Counted({ counts, countedTo, more }: z.infer<typeof Tasks>) {
  const unfinished = ['submitted', 'working', 'input-required', 'auth-required', 'unknown'];
  const shown = [...unfinished, 'failed', 'rejected', 'canceled'].filter((state) => counts[state]);
  return (
    <ul className="counts">
      {shown.map((state) => {
        const known = counts[state] ?? 0;
        const least = known > countedTo || (more && unfinished.includes(state));
        return <li key={state}><Badge state={state} say={stateOfOthers} /> <strong>{count(Math.min(known, countedTo))}{least ? '+' : ''}</strong></li>;
      })}
    </ul>
  );
}

function TaskRow({ task }: { task: Task }) {
  return (
    <tr>
      <td><Badge state={task.state} say={stateOfOthers} />{task.stuck ? <p className="problem">{named('stuck', task.stuck)}</p> : null}</td>
      <td>{task.agents.join(', ') || '–'}{task.reason ? <p className="problem">{task.reason}</p> : null}</td>
      <td className="whole"><Time at={task.since} /></td>
      <td className="whole"><Time at={task.createdAt} /></td>
      <td className="number">{count(task.attempts)}</td>
      <td className="whole"><Course id={task.taskId} /></td>
    </tr>
  );
}

/** Of those that do not go on by themselves, the one that has waited longest. */
function Stuck({ tasks }: { tasks: readonly Task[] }) {
  const [oldest] = tasks.filter(({ stuck }) => stuck).sort((one, other) => one.since.localeCompare(other.since));
  if (!oldest?.stuck) return null;
  return <p className="problem">{words.oldestStuck}: {oldest.agents.join(', ')} <Time at={oldest.since} /> · {named('stuck', oldest.stuck)} · <Course id={oldest.taskId} /></p>;
}

/** The way to a task's course, which lies over the page: what became of it and of its jobs, and how long each took. */
const Course = ({ id }: { id: string }) => <Link href={`/ops?task=${encodeURIComponent(id)}`} aria-label={say('timelineOf', { id })}><code>{id}</code></Link>;

function CourseOf({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const asked = useQuery({ queryKey: [...keys.tasks, id], queryFn: ({ signal }) => get(`ops/tasks?task=${encodeURIComponent(id)}`, Courses, signal) });
  const close = () => navigate('/ops');
  return (
    <Dialog className="course" aria-label={say('timelineOf', { id })} onClose={close}>
      <header className="panel-top"><h2><code>{id}</code></h2><button type="button" className="icon-button" aria-label={words.close} onClick={close}><Close /></button></header>
      <Shown of={asked}>{(course) => <Entries task={course} say={stateOfOthers} />}</Shown>
    </Dialog>
  );
}

/** Of each agent what it was asked in the last hour and day: how much, what failed, how long it took and what that cost. */
function Lately({ lately }: z.infer<typeof Usage>) {
  if (!lately?.length) return <p className="soft">{words.noneEnded}</p>;
  const rows = lately.flatMap(({ agent, hour, day }) => [[agent, words.lastHour, hour], [agent, words.lastDay, day]] as const);
  // What is counted in buckets is known to the bound of its own.
  const long = (took: number | null | undefined, isBound: boolean) => (typeof took === 'number' ? `${isBound ? '≤ ' : ''}${lasting(took)}` : '–');
  return (
    <Grid label={words.byAgent} heads={[words.agent, words.period, words.tasksEnded, words.errors, 'p50', 'p99', words.cost]} numbers={[2, 3, 4, 5, 6]}>
      {rows.map(([agent, span, { ended, failed, p50, p99, microDollars }]) => (
        <tr key={`${agent} ${span}`}>
          <td>{agent}</td><td className="whole">{span}</td>
          <td className="number">{count(ended)}</td><td className="number">{failed > 0 ? <span className="problem">{count(failed)}</span> : count(failed)}</td>
          <td className="number whole">{long(p50, typeof microDollars === 'number')}</td><td className="number whole">{long(p99, typeof microDollars === 'number')}</td><td className="number whole">{typeof microDollars === 'number' ? dollars(microDollars) : '–'}</td>
        </tr>
      ))}
    </Grid>
  );
}

function UnfinishedTasks() {
  const asked = useQuery({ queryKey: keys.tasks, queryFn: ({ signal }) => get('ops/tasks', Tasks, signal) });
  return (
    <>
      <h2>{words.tasks}</h2>
      <Shown of={asked}>{(data) => (
        <>
          {Object.keys(data.counts).length === 0 ? <p className="soft">{words.noneUnfinished}</p> : null}
          <Counted {...data} />
          <Stuck tasks={data.tasks} />
          {data.tasks.length > 0 ? (
            <Grid label={words.unfinished} caption={words.unfinishedFirst} heads={[words.state, words.agent, words.since, words.created, words.tries, words.task]} numbers={[4]}>
              {data.tasks.map((task) => <TaskRow key={task.taskId} task={task} />)}
            </Grid>
          ) : null}
        </>
      )}</Shown>
    </>
  );
}

/** The day that usage counts for (UTC). */
const today = () => new Date().toISOString().slice(0, 10);

/** What is left of today, by the limit that counts: the tenant's own, or the host's without it. */
function Budget({ days, tokensPerDay: own, hostTokensPerDay: host }: z.infer<typeof Usage>) {
  const used = days[0]?.day === today() ? days[0].used : 0;
  const most = own ?? host;
  if (most === null || most === undefined) return null;
  return (
    <>
      <p>{say('budget', { used, most })}</p>
      <dl className="beside">
        <div><dt>{words.ownLimit}</dt><dd>{typeof own === 'number' ? count(own) : words.noOwnLimit}</dd></div>
        <div><dt>{words.hostLimit}</dt><dd>{typeof host === 'number' ? count(host) : words.noLimit}{typeof own === 'number' ? ` ${words.notInForce}` : ''}</dd></div>
      </dl>
    </>
  );
}

function Days({ days }: z.infer<typeof Usage>) {
  if (days.length === 0) return <p className="soft">{words.noUsage}</p>;
  const rows = days.flatMap(({ day, models }) => Object.entries(models).map(([model, took]) => ({ day, model, took })));
  return (
    <Grid label={words.usage} heads={[words.day, words.model, words.calls, words.tokensIn, words.tokensCached, words.tokensOut]} numbers={[2, 3, 4, 5]}>
      {rows.map(({ day, model, took }) => (
        <tr key={`${day} ${model}`}>
          <td className="whole">{dateOnly(day)}</td><td className="whole">{model}</td>
          {[took.calls, took.input, took.cached, took.output].map((value, place) => <td key={place} className="number">{count(value ?? 0)}</td>)}
        </tr>
      ))}
    </Grid>
  );
}

/** Which keys the tenant has, newest first, and how old they are. Others are made by the command alone. */
function KeyAges() {
  const asked = useQuery({ queryKey: keys.keys, queryFn: ({ signal }) => get('ops/keys', Keys, signal) });
  return (
    <>
      <h2>{words.keys}</h2>
      <Shown of={asked}>{(data) => (
        <Grid label={words.keys} heads={[words.key, words.purpose, words.age]}>
          {data.keys.map(({ id, purpose, since }) => (
            <tr key={`${purpose} ${id}`}>
              <td><code>{id}</code>{id === data.signingKey ? ` ${words.signsNow}` : null}</td>
              <td className="whole">{named('purposes', purpose)}</td>
              <td>{since ? <time dateTime={since} title={wholeTime(since)}>{daysSince(since)}</time> : words.unknownAge}</td>
            </tr>
          ))}
        </Grid>
      )}</Shown>
    </>
  );
}

/** Whoever may not look is asked for nothing here, and is told how to come in. */
export default function OpsPage() {
  const { data: session } = useSession();
  const signIn = useSignIn();
  const mayLook = session?.role === 'operator' || session?.role === 'admin';
  return (
    <main className="page" id="conversation">
      {mayLook ? <Console isAdmin={session.role === 'admin'} /> : null}
      {session && !mayLook ? session.who === 'person' ? <Gone /> : <div className="empty"><h1>{words.ops}</h1><p>{words.opsSignIn}</p><a className="button primary" href={signIn}>{words.signIn}</a></div> : null}
    </main>
  );
}

/** What is stuck stands first: that is what one comes for. */
function Console({ isAdmin }: { isAdmin: boolean }) {
  const agents = useQuery({ queryKey: keys.agents, queryFn: ({ signal }) => get('ops/agents', Agents, signal) });
  const usage = useQuery({ queryKey: keys.usage, queryFn: ({ signal }) => get('ops/usage', Usage, signal) });
  const task = new URLSearchParams(useSearch()).get('task');
  return (
    <>
      <h1>{words.ops}</h1>
      {task ? <CourseOf key={task} id={task} /> : null}
      <h2>{words.byAgent}</h2>
      <Shown of={usage}>{(data) => <Lately {...data} />}</Shown>
      {usage.data?.plan ? <PlanUsed plan={usage.data.plan} usageKey={keys.usage} /> : null}
      <UnfinishedTasks />
      <ParkedDeliveries />
      <h2>{words.agents}</h2>
      <Shown of={agents}>{(data) => <ul className="accounts">{data.agents.map((agent) => <Row key={agent.id} agent={agent} />)}</ul>}</Shown>
      <h2>{words.usage}</h2>
      <Shown of={usage}>{(data) => <><Budget {...data} /><Days {...data} /></>}</Shown>
      <KeyAges />
      {isAdmin ? <Administration /> : null}
    </>
  );
}
