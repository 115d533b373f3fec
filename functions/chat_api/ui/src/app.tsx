// The page: the sidebar, one view, and a task's panel beside it.

import { lazy, Suspense, useEffect, useState } from 'react';
import { Route, Switch, useLocation, useRoute, useSearch } from 'wouter';
import { product } from './api.ts';
import { CommandBar } from './command.tsx';
import { ChatView } from './chat/view.tsx';
import { sendLeftOvers } from './chat/session.ts';
import { useAway, useTitle } from './live/away.ts';
import { live } from './live/live.ts';
import { keepTold, whenClicked } from './live/push.ts';
import { AccountsPage } from './pages/accounts.tsx';
import { TasksPage } from './pages/tasks.tsx';
import { drawn, keys, queries, useChatTitle, useSession } from './queries.ts';
import { Announcer } from './parts/announce.tsx';
import { Close, Mark, Menu } from './parts/icons.tsx';
import { Gone, Loading } from './parts/states.tsx';
import { Sidebar } from './sidebar.tsx';
import { Gate } from './sign-in.tsx';
import { TakeOver } from './take-over.tsx';
import { Panel } from './task/panel.tsx';
import { words } from './words.ts';

const OpsPage = lazy(() => import('./pages/ops.tsx'));

/** Links of before name the chat behind a hash. */
function useOldLinks() {
  const [, navigate] = useLocation();
  useEffect(() => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id) navigate(`/chats/${encodeURIComponent(id)}`, { replace: true });
  }, [navigate]);
}

/** One element for a chat with and without its panel: the chat is not begun anew when a task is opened. */
function ChatPage({ id, task }: { id: string | null; task: string | null }) {
  return (
    <>
      <ChatView id={id} />
      {id !== null && task !== null ? <Panel key={task} id={task} chat={id} close={`/chats/${encodeURIComponent(id)}`} /> : null}
    </>
  );
}

/** A task beside the list of all; closing it leads back to the same part of the list. */
function TaskOfAll({ id }: { id: string }) {
  const search = useSearch();
  return <><TasksPage /><Panel key={id} id={id} chat={null} close={`/tasks${search ? `?${search}` : ''}`} /></>;
}

/** What the view is called in the tab's title; a chat names itself. */
function viewName(path: string): string {
  const [first] = path.split('/').filter(Boolean);
  const names: Record<string, string> = { tasks: words.tasks, accounts: words.accounts, ops: words.ops };
  return (first && Object.hasOwn(names, first) && names[first]) || '';
}

function Views() {
  const [path] = useLocation();
  const [, chat] = useRoute('/chats/:id/*?');
  const title = useChatTitle(chat?.id);
  useTitle(title || viewName(path));
  return (
    <Switch>
      <Route path="/tasks"><TasksPage /></Route>
      <Route path="/tasks/:id">{({ id }) => <TaskOfAll id={id} />}</Route>
      <Route path="/accounts"><AccountsPage /></Route>
      <Route path="/ops"><Suspense fallback={<main className="page" id="conversation"><Loading /></main>}><OpsPage /></Suspense></Route>
      <Route path="/*?">{(params) => {
        const [chats, id, tasks, task, more] = (params['*'] ?? '').split('/').map(decodeURIComponent);
        if (!chats) return <ChatPage id={null} task={null} />;
        const isChat = chats === 'chats' && id && !more && (tasks === undefined || (tasks === 'tasks' && task));
        return isChat ? <ChatPage id={id} task={task ?? null} /> : <main className="page" id="conversation"><Gone /></main>;
      }}</Route>
    </Switch>
  );
}

/** What this browser is told while no page is open is for whoever is here now, and leads to the task. */
function useTold() {
  const [, navigate] = useLocation();
  const mark = useSession().data?.owner;
  useEffect(() => whenClicked(navigate), [navigate]);
  useEffect(() => {
    if (mark === undefined) return;
    void keepTold().catch(() => undefined).then(() => queries.invalidateQueries({ queryKey: keys.push }));
  }, [mark]);
}

export function App() {
  return <Gate><Frame /></Gate>;
}

function Frame() {
  const [isOpen, open] = useState(false);
  useOldLinks();
  useAway();
  useTold();
  useEffect(() => {
    drawn();
    live.start();
    void sendLeftOvers();
  }, []);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key === 'Escape') open(false);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  return (
    <div className="frame" data-menu={isOpen ? 'open' : 'closed'}>
      <a className="skip" href="#conversation" onClick={(event) => { event.preventDefault(); document.getElementById('prompt')?.focus(); }}>{words.skip}</a>
      <header className="top">
        <button type="button" className="icon-button" aria-expanded={isOpen} aria-label={isOpen ? words.close : words.menu} onClick={() => open(!isOpen)}>{isOpen ? <Close /> : <Menu />}</button>
        <p className="brand"><Mark /> <strong>{product}</strong></p>
      </header>
      <Sidebar leave={() => open(false)} />
      <div className="views"><Views /></div>
      <TakeOver />
      <CommandBar />
      <Announcer />
    </div>
  );
}
