// All tasks of all chats, by day, state and agent.

import { useState } from 'react';
import { Link, useSearch } from 'wouter';
import { useNavigateSearch } from '../parts/search.ts';
import { cards, useCards } from '../live/cards.ts';
import { TellMe } from '../live/tell-me.tsx';
import { cardOf, isActive, isOver, type Task, waitsForUser } from '../model.ts';
import { Search } from '../parts/icons.tsx';
import { Sure } from '../parts/dialog.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { useTasks } from '../queries.ts';
import { act } from '../task/act.tsx';
import { Badge } from '../task/badge.tsx';
import { nameOf } from '../task/card.tsx';
import { count, dayOf, say, words } from '../words.ts';

type Group = 'all' | 'waiting' | 'running' | 'finished';

const groups: Record<Group, (state: string) => boolean> = {
  all: () => true,
  waiting: waitsForUser,
  running: (state) => isActive(state) || state === 'unknown',
  finished: isOver,
};

const isGroup = (name: string): name is Group => Object.hasOwn(groups, name);

/** The agents that work on a task. */
const agentsOf = (task: Task): string[] => [...new Set(task.jobs.map(({ agentName }) => agentName ?? '').concat(task.agentName ?? ''))].filter(Boolean);

/** What was said in a task: by its user, by agents, and who they are. */
const saidIn = (task: Task): string[] =>
  [task.prompt, task.statusMessage, task.outcome, ...agentsOf(task), ...task.artifacts.flatMap(({ name, parts }) => [name, ...parts.map(({ text }) => text)])].map((text) => text ?? '');

function Row({ task, search }: { task: Task; search: string }) {
  const card = cards.newest(cardOf(task));
  return (
    <li>
      <Link href={`/tasks/${encodeURIComponent(task.id)}${search}`}>
        <span className="row-name">{nameOf(card)}</span>
        <span className="row-what">{task.prompt}</span>
        <span className="row-age"><Time at={card.updatedAt ?? task.updatedAt} /></span>
        <Badge state={card.state} />
      </Link>
    </li>
  );
}

/** Ends all that are shown and not over yet. */
function CancelAll({ tasks }: { tasks: readonly Task[] }) {
  const { run, problem } = useDoing();
  const cancel = () => run(() => Promise.all(tasks.map(({ id }) => act(id, 'cancel'))));
  if (problem || tasks.length < 2) return <Problem text={problem} />;
  return <Sure does={`${words.cancelAll} (${count(tasks.length)})`} asks={say('cancelAsk', { count: tasks.length })} then={cancel} />;
}

export function TasksPage() {
  const search = useSearch();
  const go = useNavigateSearch();
  const named = new URLSearchParams(search).get('show') ?? '';
  const group: Group = isGroup(named) ? named : 'all';
  const [agent, setAgent] = useState('');
  const [wanted, want] = useState('');
  useCards();
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTasks();
  // Talk makes a task too, of which there is nothing to see; a question of the host's waits like others.
  const all = (data?.pages ?? []).flatMap(({ tasks }) => tasks).filter(({ jobs, plan, status }) => jobs.length > 0 || plan || waitsForUser(status));
  const agents = [...new Set(all.flatMap(agentsOf))].sort();
  const has = (task: Task) => saidIn(task).some((text) => text.toLowerCase().includes(wanted.trim().toLowerCase()));
  const found = all.filter((task) => (!agent || agentsOf(task).includes(agent)) && has(task));
  const stateOf = (task: Task) => cards.newest(cardOf(task)).state;
  const inGroup = (name: Group) => found.filter((task) => groups[name](stateOf(task)));
  const shown = inGroup(group);
  const days = Map.groupBy(shown, ({ createdAt }) => dayOf(createdAt));
  return (
    <main className="page" id="conversation">
      <h1>{words.tasks}</h1>
      {all.length > 0 ? (
        <div className="filters">
          <div className="segments" role="group" aria-label={words.state}>
            {(Object.keys(groups) as Group[]).map((name) => (
              <button key={name} type="button" aria-pressed={name === group} onClick={() => go(name === 'all' ? '' : `show=${name}`)}>
                {words[name]} <span>{count(inGroup(name).length)}{hasNextPage ? '+' : ''}</span>
              </button>
            ))}
          </div>
          <label className="search"><Search /><span className="unseen">{words.searchTasks}</span><input type="search" placeholder={words.searchTasks} value={wanted} maxLength={80} onChange={({ target }) => want(target.value)} /></label>
          {agents.length > 1 ? (
            <label>{words.agent} <select value={agent} onChange={({ target }) => setAgent(target.value)}><option value="">{words.all}</option>{agents.map((name) => <option key={name}>{name}</option>)}</select></label>
          ) : null}
          <CancelAll tasks={shown.filter((task) => !isOver(stateOf(task)))} />
        </div>
      ) : null}
      {isPending ? <Loading /> : null}
      {error && !data ? <Failed error={error} retry={() => void refetch()} /> : null}
      {data && all.length === 0 && !hasNextPage ? <Empty text={words.noTasks} /> : null}
      {all.length > 0 && shown.length === 0 ? <p className="soft">{words.noTaskInState}</p> : null}
      {[...days].map(([day, tasks]) => (
        <section key={day} aria-label={day}>
          <h2 className="day-of">{day}</h2>
          <ul className="rows">{tasks.map((task) => <Row key={task.id} task={task} search={search ? `?${search}` : ''} />)}</ul>
        </section>
      ))}
      {hasNextPage ? <button type="button" className="more" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>{words.more}</button> : null}
      <TellMe />
    </main>
  );
}
