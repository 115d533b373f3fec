// All tasks of all chats, by state and agent.

import { useState } from 'react';
import { Link } from 'wouter';
import { useCard } from '../live/cards.ts';
import { cardOf, isActive, isOver, type Task, waitsForUser } from '../model.ts';
import { Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { useTasks } from '../queries.ts';
import { Badge } from '../task/badge.tsx';
import { nameOf } from '../task/card.tsx';
import { words } from '../words.ts';

const groups: Record<string, (state: string) => boolean> = {
  'Waits for you': waitsForUser,
  Running: (state) => isActive(state) || state === 'unknown',
  Finished: isOver,
};

function Row({ task }: { task: Task }) {
  const card = useCard(cardOf(task));
  return (
    <li>
      <Link href={`/tasks/${task.id}`}>
        <span className="row-name">{nameOf(card)}</span>
        <span className="row-what">{task.prompt}</span>
        <span className="row-age"><Time at={card.updatedAt ?? task.updatedAt} /></span>
        <Badge state={card.state} />
      </Link>
    </li>
  );
}

export function TasksPage() {
  const [group, setGroup] = useState('');
  const [agent, setAgent] = useState('');
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage } = useTasks();
  // Talk makes a task too, of which there is nothing to see.
  const all = (data?.pages ?? []).flatMap(({ tasks }) => tasks).filter(({ jobs, plan }) => jobs.length > 0 || plan);
  const agents = [...new Set(all.map((task) => task.agentName ?? '').filter(Boolean))].sort();
  const shown = all.filter((task) => (!group || groups[group]?.(task.status)) && (!agent || task.agentName === agent));
  return (
    <main className="page" id="conversation">
      <h1>{words.tasks}</h1>
      <div className="filters">
        <label>{words.state} <select value={group} onChange={({ target }) => setGroup(target.value)}><option value="">{words.all}</option>{Object.keys(groups).map((name) => <option key={name}>{name}</option>)}</select></label>
        <label>{words.agent} <select value={agent} onChange={({ target }) => setAgent(target.value)}><option value="">{words.all}</option>{agents.map((name) => <option key={name}>{name}</option>)}</select></label>
      </div>
      {isPending ? <Loading /> : null}
      {error && !data ? <Failed error={error} retry={() => void refetch()} /> : null}
      {data && all.length === 0 ? <p className="soft">{words.noTasks}</p> : null}
      {all.length > 0 && shown.length === 0 ? <p className="soft">{words.noTaskInState}</p> : null}
      <ul className="rows">{shown.map((task) => <Row key={task.id} task={task} />)}</ul>
      {hasNextPage ? <button type="button" onClick={() => void fetchNextPage()}>{words.more}</button> : null}
    </main>
  );
}

