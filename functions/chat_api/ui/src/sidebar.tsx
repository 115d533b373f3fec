// The chats, and where else one can go.

import { useState } from 'react';
import { Link, useRoute } from 'wouter';
import { product, tenant } from './api.ts';
import { openCommands } from './command.tsx';
import { ChatMenu } from './chat-menu.tsx';
import { Bell, Gauge, Link as LinkIcon, Mark, Plus, Search, Tasks } from './parts/icons.tsx';
import { useWaiting } from './live/away.ts';
import { Failed, Loading } from './parts/states.tsx';
import { useChats, useRested, useSession } from './queries.ts';
import { Who } from './sign-in.tsx';
import { say, words } from './words.ts';

function ChatList({ wanted, leave }: { wanted: string; leave: () => void }) {
  const [, params] = useRoute('/chats/:id/*?');
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage } = useChats(wanted.trim());
  if (isPending) return <Loading />;
  if (error && !data) return <Failed error={error} retry={() => void refetch()} />;
  const all = data.pages.flatMap(({ chats }) => chats);
  if (all.length === 0 && !hasNextPage) return <p className="soft">{wanted ? words.noneFound : words.noChats}</p>;
  return (
    <>
      <ul>
        {all.map((chat) => (
          <li key={chat.id}>
            <Link href={`/chats/${encodeURIComponent(chat.id)}`} title={chat.title} onClick={leave} aria-current={params?.id === chat.id ? 'page' : undefined}>{chat.title || words.chat}</Link>
            <ChatMenu chat={chat} />
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
  const [onOps] = useRoute('/ops');
  const role = useSession().data?.role;
  const waiting = useWaiting();
  return (
    <div className="sidebar">
      <p className="brand"><Mark /> <strong>{product}</strong> <span>{tenant}</span></p>
      <Link className="button new" href="/" onClick={leave}><Plus /> {words.newChat}</Link>
      <nav aria-label={words.menu}>
        <ul>
          {waiting > 0 ? <li><Link className="inbox" href="/tasks?show=waiting" onClick={leave}><Bell /> {say('waitsForYou', { count: waiting })}</Link></li> : null}
          <li><Link href="/tasks" onClick={leave} aria-current={onTasks ? 'page' : undefined}><Tasks /> {words.tasks}</Link></li>
          <li><Link href="/accounts" onClick={leave} aria-current={onAccounts ? 'page' : undefined}><LinkIcon /> {words.accounts}</Link></li>
          {role === 'operator' || role === 'admin' ? <li><Link href="/ops" onClick={leave} aria-current={onOps ? 'page' : undefined}><Gauge /> {words.ops}</Link></li> : null}
        </ul>
      </nav>
      <button type="button" className="quiet go-to" onClick={() => { leave(); openCommands(); }}>{words.goToAnything} <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'}</kbd></button>
      <label className="search"><Search /><span className="unseen">{words.search}</span><input type="search" placeholder={words.search} value={wanted} maxLength={80} onChange={({ target }) => want(target.value)} /></label>
      <nav className="chat-list" aria-label={words.yourChats}><ChatList wanted={useRested(wanted)} leave={leave} /></nav>
      <Who />
    </div>
  );
}
