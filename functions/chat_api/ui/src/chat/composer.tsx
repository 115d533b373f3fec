// Where the user writes. Enter sends, Shift+Enter begins a line; what is not sent yet is kept.

import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Clip, Close, Send, Stop } from '../parts/icons.tsx';
import type { Model } from '../model.ts';
import { drafts } from '../storage.ts';
import { size, words } from '../words.ts';
import { type Attached, add, offered } from './attached.ts';

/** A message to go on with. */
export interface Given {
  text: string;
  files: Attached[];
  at: number;
}

interface Shown {
  chat: string;
  isFirst: boolean;
  isBusy: boolean;
  say: (text: string, files: Attached[]) => void;
  stop: () => void;
  /** Whom the message can be for; the first finds out itself. */
  models: readonly Model[];
  /** The one that it is for. */
  model: string;
  choose: (id: string) => void;
  /** What to begin with, such as a message that was refused. */
  given: Given | null;
}

export function Composer({ chat, isFirst, isBusy, say, stop, models, model, choose, given }: Shown) {
  const [text, setText] = useState(() => drafts.get(chat));
  const [files, setFiles] = useState<readonly Attached[]>([]);
  /** The same, for what is at work between two drawings. */
  const now = useRef<readonly Attached[]>([]);
  /** Files that are being read; with what is wrong with them. */
  const reading = useRef<Promise<string> | null>(null);
  const [problem, setProblem] = useState('');
  const [isOver, setOver] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const accepted = models.find(({ id }) => id === model)?.inputTypes ?? [];
  const take = (next: readonly Attached[], wrong = '') => {
    now.current = next;
    setFiles(next);
    setProblem(wrong);
  };
  useEffect(() => {
    setText(drafts.get(chat));
    if (matchMedia('(hover: hover)').matches) box.current?.focus();
  }, [chat]);
  useEffect(() => {
    if (!given) return;
    setText(given.text);
    take(given.files);
    box.current?.focus();
  }, [given]);
  const write = (next: string) => {
    setText(next);
    drafts.set(chat, next);
  };
  const attach = (chosen: readonly File[]) => {
    const work = (reading.current ?? Promise.resolve('')).then(async () => {
      const added = await add(now.current, chosen, accepted);
      take(added.files, added.problem);
      if (reading.current === work) reading.current = null;
      return added.problem;
    });
    reading.current = work;
    box.current?.focus();
  };
  // Files may be dropped anywhere on the chat.
  useEffect(() => {
    const chat = form.current?.closest('main');
    if (!chat) return;
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setOver(true);
    };
    const left = (event: DragEvent) => {
      if (!chat.contains(event.relatedTarget as Node | null)) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      setOver(false);
      attach([...event.dataTransfer.files]);
    };
    const listeners = [['dragover', over], ['dragleave', left], ['drop', drop]] as const;
    for (const [name, heard] of listeners) chat.addEventListener(name, heard);
    return () => {
      for (const [name, heard] of listeners) chat.removeEventListener(name, heard);
    };
  });
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attach([...event.clipboardData.files]);
  };
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    const [said, waits] = [text.trim(), reading.current];
    if (!said && !waits && files.length === 0) return;
    write('');
    // A message leaves with the files that were chosen for it, or waits for another word where one of them cannot go along.
    if (waits && (await waits)) return write(said);
    const sent = [...now.current];
    take([]);
    if (said || sent.length > 0) say(said || words.onlyFiles, sent);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  return (
    <form className="composer" data-over={isOver} ref={form} onSubmit={(event) => void submit(event)}>
      {isOver ? <p className="drop-here" aria-hidden="true">{words.dropHere}</p> : null}
      {files.length > 0 ? (
        <ul className="chips" aria-label={words.attached}>
          {files.map((file, place) => (
            <li key={`${place} ${file.name}`}>
              {file.type.startsWith('image/') && file.type !== 'image/svg+xml' ? <img src={file.url} alt="" /> : null}
              <bdi>{file.name}</bdi> <span className="soft">{size(file.size)}</span>
              <button type="button" className="icon-button" aria-label={words.detach(file.name)} title={words.detach(file.name)} onClick={() => { take(files.filter((one) => one !== file)); box.current?.focus(); }}><Close /></button>
            </li>
          ))}
        </ul>
      ) : null}
      {problem ? <p className="problem slim" role="alert">{problem}</p> : null}
      <label className="unseen" htmlFor="prompt">{words.message}</label>
      <textarea id="prompt" ref={box} rows={1} value={text} placeholder={isFirst ? words.ask : words.askMore} onChange={({ target }) => write(target.value)} onKeyDown={key} onPaste={paste} />
      <input className="unseen" type="file" multiple tabIndex={-1} aria-hidden="true" ref={chooser} accept={offered(accepted)} onChange={({ target }) => { attach([...(target.files ?? [])]); target.value = ''; }} />
      <button type="button" className="icon-button attach" onClick={() => chooser.current?.click()} aria-label={words.attach} title={words.attach}><Clip /></button>
      {models.length > 1 ? (
        <label className="for-agent">
          <span className="unseen">{words.askWhom}</span>
          <select value={model} onChange={({ target }) => choose(target.value)}>
            {models.map(({ id, name }, place) => <option key={id} value={id}>{place === 0 ? words.anyAgent : name}</option>)}
          </select>
        </label>
      ) : null}
      {isBusy ? <button type="button" className="round" onClick={stop} aria-label={words.stop} title={words.stop}><Stop /></button> : null}
      <button type="submit" className="round primary" disabled={!text.trim() && files.length === 0} aria-label={words.send} title={words.send}><Send /></button>
    </form>
  );
}
