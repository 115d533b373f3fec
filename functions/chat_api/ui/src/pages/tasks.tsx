// All tasks of all chats, by state and agent.

import { useState } from 'react';
import { Link, useSearch } from 'wouter';
import { useNavigateSearch } from '../parts/search.ts';
import { cards, useCards } from '../live/cards.ts';
import { TellMe } from '../live/tell-me.tsx';
import { cardOf, isActive, isOver, type Task, waitsForUser } from '../model.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { useTasks } from '../queries.ts';
import { Badge } from '../task/badge.tsx';
import { nameOf } from '../task/card.tsx';
import { count, words } from '../words.ts';

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

export function TasksPage() {
  const search = useSearch();
  const go = useNavigateSearch();
  const named = new URLSearchParams(search).get('show') ?? '';
  const group: Group = isGroup(named) ? named : 'all';
  const [agent, setAgent] = useState('');
  useCards();
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTasks();
  // Talk makes a task too, of which there is nothing to see.
  const all = (data?.pages ?? []).flatMap(({ tasks }) => tasks).filter(({ jobs, plan }) => jobs.length > 0 || plan);
  const agents = [...new Set(all.flatMap(agentsOf))].sort();
  const ofAgent = all.filter((task) => !agent || agentsOf(task).includes(agent));
  const inGroup = (name: Group) => ofAgent.filter((task) => groups[name](cards.newest(cardOf(task)).state));
  const shown = inGroup(group);
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
          {agents.length > 1 ? (
            <label>{words.agent} <select value={agent} onChange={({ target }) => setAgent(target.value)}><option value="">{words.all}</option>{agents.map((name) => <option key={name}>{name}</option>)}</select></label>
          ) : null}
        </div>
      ) : null}
      {isPending ? <Loading /> : null}
      {error && !data ? <Failed error={error} retry={() => void refetch()} /> : null}
      {data && all.length === 0 && !hasNextPage ? <Empty text={words.noTasks} /> : null}
      {all.length > 0 && shown.length === 0 ? <p className="soft">{words.noTaskInState}</p> : null}
      <ul className="rows">{shown.map((task) => <Row key={task.id} task={task} search={search ? `?${search}` : ''} />)}</ul>
      {hasNextPage ? <button type="button" className="more" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>{words.more}</button> : null}
      <TellMe />
    </main>
  );
}
