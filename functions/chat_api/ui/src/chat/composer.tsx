// Where the user writes. Enter sends, Shift+Enter begins a line; what is not sent yet is kept.

import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Send, Stop } from '../parts/icons.tsx';
import type { Model } from '../model.ts';
import { drafts } from '../storage.ts';
import { words } from '../words.ts';

interface Shown {
  chat: string;
  isFirst: boolean;
  isBusy: boolean;
  say: (text: string) => void;
  stop: () => void;
  /** Whom the message can be for; the first finds out itself. */
  models: readonly Model[];
  /** The one that it is for. */
  model: string;
  choose: (id: string) => void;
  /** A text to begin with, such as that of a message that was refused. */
  given: { text: string; at: number } | null;
}

export function Composer({ chat, isFirst, isBusy, say, stop, models, model, choose, given }: Shown) {
  const [text, setText] = useState(() => drafts.get(chat));
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(drafts.get(chat));
    if (matchMedia('(hover: hover)').matches) box.current?.focus();
  }, [chat]);
  useEffect(() => {
    if (!given) return;
    setText(given.text);
    box.current?.focus();
  }, [given]);
  const write = (next: string) => {
    setText(next);
    drafts.set(chat, next);
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const said = text.trim();
    if (!said) return;
    write('');
    say(said);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form className="composer" onSubmit={submit}>
      <label className="unseen" htmlFor="prompt">{words.message}</label>
      <textarea id="prompt" ref={box} rows={1} value={text} placeholder={isFirst ? words.ask : words.askMore} onChange={({ target }) => write(target.value)} onKeyDown={key} />
      {models.length > 1 ? (
        <label className="for-agent">
          <span className="unseen">{words.askWhom}</span>
          <select value={model} onChange={({ target }) => choose(target.value)}>
            {models.map(({ id, name }, place) => <option key={id} value={id}>{place === 0 ? words.anyAgent : name}</option>)}
          </select>
        </label>
      ) : null}
      {isBusy ? <button type="button" className="round" onClick={stop} aria-label={words.stop} title={words.stop}><Stop /></button> : null}
      <button type="submit" className="round primary" disabled={!text.trim()} aria-label={words.send} title={words.send}><Send /></button>
    </form>
  );
}
