// What can be done with a chat of the list: another name, or its end.

import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { send } from './api.ts';
import type { Chat } from './model.ts';
import { Dots } from './parts/icons.tsx';
import { Dialog } from './parts/dialog.tsx';
import { Problem, useDoing } from './parts/doing.tsx';
import { keys, queries } from './queries.ts';
import { words } from './words.ts';

const TITLE_MAX = 80;

interface Shown {
  chat: Chat;
  close: () => void;
}

function Asked({ chat, close }: Shown) {
  const [title, setTitle] = useState(chat.title);
  const { run, problem } = useDoing();
  const [location, navigate] = useLocation();
  const path = `chats/${encodeURIComponent(chat.id)}`;
  const change = (by: () => Promise<unknown>) => run(() => by().then(() => queries.invalidateQueries({ queryKey: keys.chats })).then(close));
  const rename = (event: FormEvent) => {
    event.preventDefault();
    void change(() => send('PATCH', path, { title }));
  };
  const remove = () =>
    void change(async () => {
      await send('DELETE', path);
      if (location.startsWith(`/${path}`)) navigate('/');
    });
  return (
    <Dialog onClose={close} aria-label={words.chat}>
      <form className="asked" onSubmit={rename}>
        <label>{words.title} <input value={title} maxLength={TITLE_MAX} required onChange={({ target }) => setTitle(target.value)} /></label>
        <Problem text={problem} />
        <p className="soft asked-why">{words.deleteAsk}</p>
        <div className="asked-row">
          <button type="button" className="danger" onClick={remove}>{words.delete}</button>
          <button type="button" onClick={close}>{words.close}</button>
          <button type="submit" className="primary" disabled={!title.trim() || title === chat.title}>{words.rename}</button>
        </div>
      </form>
    </Dialog>
  );
}

export function ChatMenu({ chat }: { chat: Chat }) {
  const [isOpen, open] = useState(false);
  return (
    <>
      <button type="button" className="icon-button chat-more" aria-haspopup="dialog" aria-label={`${words.change}: ${chat.title}`} onClick={() => open(true)}><Dots /></button>
      {isOpen ? <Asked chat={chat} close={() => open(false)} /> : null}
    </>
  );
}
