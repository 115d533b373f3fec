// The command bar: whatever can be gone to or begun, by a few letters. Ctrl or Command with K opens it.

import { type KeyboardEvent as Pressed, useEffect, useId, useState } from 'react';
import { useLocation } from 'wouter';
import { begin } from './chat/given.ts';
import { Dialog } from './parts/dialog.tsx';
import { useChats, useModels, useRested, useSession, useTasks } from './queries.ts';
import { words } from './words.ts';

/** So many are seen without scrolling far. */
const MOST = 12;

interface Command {
  kind: string;
  name: string;
  run: () => void;
}

/** Everything that the letters are in, in the order of its kinds. */
function useCommands(wanted: string): Command[] {
  const [, navigate] = useLocation();
  const chats = useChats(useRested(wanted.trim())).data?.pages.flatMap((page) => page.chats) ?? [];
  const tasks = useTasks().data?.pages.flatMap((page) => page.tasks) ?? [];
  const agents = useModels().data?.models.slice(1) ?? [];
  const role = useSession().data?.role;
  const to = (kind: string, name: string, path: string): Command => ({ kind, name, run: () => navigate(path) });
  const ops = role === 'operator' || role === 'admin' ? [to(words.action, words.ops, '/ops')] : [];
  const all = [
    to(words.action, words.newChat, '/'), to(words.action, words.tasks, '/tasks'), to(words.action, words.waiting, '/tasks?show=waiting'), to(words.action, words.accounts, '/accounts'), ...ops,
    ...agents.map(({ id, name }) => ({ kind: words.agent, name, run: () => { begin({ model: id }); navigate('/'); } })),
    ...chats.map(({ id, title }) => to(words.chat, title || words.chat, `/chats/${encodeURIComponent(id)}`)),
    ...tasks.filter(({ prompt, jobs }) => prompt && jobs.length > 0).map(({ id, prompt }) => to(words.task, prompt ?? '', `/tasks/${encodeURIComponent(id)}`)),
  ];
  return all.filter(({ name }) => name.toLowerCase().includes(wanted.trim().toLowerCase())).slice(0, MOST);
}

function Bar({ close }: { close: () => void }) {
  const [wanted, want] = useState('');
  const [chosen, choose] = useState(0);
  const id = useId();
  const found = useCommands(wanted);
  const run = (place: number) => {
    close();
    found[place]?.run();
  };
  const key = (event: Pressed) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (step === 0 && event.key !== 'Enter') return;
    event.preventDefault();
    if (step === 0) run(chosen);
    else choose((chosen + step + found.length) % Math.max(1, found.length));
  };
  return (
    <>
      <input role="combobox" aria-expanded aria-controls={id} aria-activedescendant={found[chosen] ? `${id}${chosen}` : undefined} aria-label={words.goTo} placeholder={words.goTo} value={wanted} onKeyDown={key} onChange={({ target }) => { want(target.value); choose(0); }} />
      <ul id={id} role="listbox" aria-label={words.goTo}>
        {found.map(({ kind, name }, place) => (
          <li key={`${kind} ${place}`} id={`${id}${place}`} role="option" aria-selected={place === chosen} onClick={() => run(place)}><span>{name}</span> <small>{kind}</small></li>
        ))}
      </ul>
      {found.length === 0 ? <p className="soft" role="status">{words.nothingFound}</p> : null}
    </>
  );
}

/** Whoever writes somewhere means the letter. */
const isWriting = (of: EventTarget | null): boolean => of instanceof Element && of.matches('input, textarea, select');

/** The same for who presses a button. */
export const openCommands = (): boolean => dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));

export function CommandBar() {
  const [isOpen, open] = useState(false);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) open(true);
      else if (event.key === '/' && !isWriting(event.target)) document.getElementById('prompt')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  if (!isOpen) return null;
  return <Dialog className="commands" aria-label={words.goTo} onClose={() => open(false)} onClick={({ target, currentTarget }) => { if (target === currentTarget) open(false); }}><Bar close={() => open(false)} /></Dialog>;
}
