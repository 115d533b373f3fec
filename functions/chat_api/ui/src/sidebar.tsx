// The chats, and where else one can go.

import { useDeferredValue, useState } from 'react';
import { Link, useRoute } from 'wouter';
import { tenant } from './api.ts';
import { Link as LinkIcon, Logo, Plus, Search, Tasks } from './parts/icons.tsx';
import { Failed, Loading } from './parts/states.tsx';
import { useChats } from './queries.ts';
import { words } from './words.ts';

function ChatList({ wanted, leave }: { wanted: string; leave: () => void }) {
  const [, params] = useRoute('/chats/:id/*?');
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage } = useChats();
  if (isPending) return <Loading />;
  if (error && !data) return <Failed error={error} retry={() => void refetch()} />;
  const all = data.pages.flatMap(({ chats }) => chats);
  const found = all.filter(({ title }) => title.toLowerCase().includes(wanted.toLowerCase()));
  if (all.length === 0) return <p className="soft">{words.noChats}</p>;
  if (found.length === 0) return <p className="soft">{words.noneFound}</p>;
  return (
    <>
      <ul>
        {found.map(({ id, title }) => (
          <li key={id}>
            <Link href={`/chats/${encodeURIComponent(id)}`} title={title} onClick={leave} aria-current={params?.id === id ? 'page' : undefined}>{title || 'Chat'}</Link>
          </li>
        ))}
      </ul>
      {hasNextPage ? <button type="button" className="quiet" onClick={() => void fetchNextPage()}>{words.more}</button> : null}
    </>
  );
}

export function Sidebar({ leave }: { leave: () => void }) {
  const [wanted, want] = useState('');
  const [onTasks] = useRoute('/tasks/*?');
  const [onAccounts] = useRoute('/accounts');
  return (
    <div className="sidebar">
      <p className="brand"><Logo /> {words.product} <span>{tenant}</span></p>
      <Link className="button new" href="/" onClick={leave}><Plus /> {words.newChat}</Link>
      <nav aria-label={words.menu}>
        <ul>
          <li><Link href="/tasks" onClick={leave} aria-current={onTasks ? 'page' : undefined}><Tasks /> {words.tasks}</Link></li>
          <li><Link href="/accounts" onClick={leave} aria-current={onAccounts ? 'page' : undefined}><LinkIcon /> {words.accounts}</Link></li>
        </ul>
      </nav>
      <label className="search"><Search /><span className="unseen">{words.search}</span><input type="search" placeholder={words.search} value={wanted} onChange={({ target }) => want(target.value)} /></label>
      <nav className="chat-list" aria-label={words.yourChats}><ChatList wanted={useDeferredValue(wanted)} leave={leave} /></nav>
    </div>
  );
}
