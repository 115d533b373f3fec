// Where the user writes. Enter sends, Shift+Enter begins a line; what is not sent yet is kept.

import { type ClipboardEvent, type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Clip, Close, Send, Stop } from '../parts/icons.tsx';
import type { Model } from '../model.ts';
import { drafts } from '../storage.ts';
import { say as inWords, size, words } from '../words.ts';
import { nameOf } from '../task/card.tsx';
import { readModels } from '../queries.ts';
import { answering, useAnswering } from './answering.ts';
import { type Attached, add, offered, told } from './attached.ts';
import { taken, useGiven } from './given.ts';
import { held } from './held.ts';

/** What was written there before and not sent. */
const begun = (chat: string): string => held.text(chat) || drafts.get(chat);

interface Shown {
  chat: string;
  isFirst: boolean;
  isBusy: boolean;
  /** Says it; in answer to a task's card, where that was chosen. */
  say: (text: string, about: { files: Attached[]; taskId?: string | undefined; edits?: string | undefined }) => void;
  /** The last message of the user's own, to be written anew. */
  editLast: (() => void) | null;
  stop: () => void;
  /** Whom the message can be for; the first finds out itself. */
  models: readonly Model[];
  /** The one that it is for. */
  model: string;
  choose: (id: string) => void;
}

export function Composer({ chat, isFirst, isBusy, say, stop, models, model, choose, editLast }: Shown) {
  const [text, setText] = useState(() => begun(chat));
  const [files, setFiles] = useState(() => held.files(chat));
  /** The same, for what is at work between two drawings. */
  const now = useRef(files);
  /** Files that are being read; with what is wrong with them. */
  const reading = useRef<Promise<string> | null>(null);
  const [problem, setProblem] = useState('');
  const [isOver, setOver] = useState(false);
  const asked = useAnswering();
  const box = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const accepted = models.find(({ id }) => id === model)?.inputTypes ?? [];
  const take = (next: readonly Attached[], wrong = '') => {
    now.current = next;
    held.attach(chat, next);
    setFiles(next);
    setProblem(wrong);
  };
  useEffect(() => {
    const text = begun(chat);
    setText(text);
    drafts.set(chat, text);
    take(held.files(chat));
    answering.arrive();
    if (matchMedia('(hover: hover)').matches) box.current?.focus();
  }, [chat]);
  const [edits, edit] = useState<string | undefined>(undefined);
  const given = useGiven();
  useEffect(() => {
    if (!given) return;
    taken();
    if (given.text !== undefined) write(given.text);
    if (given.files) take(given.files);
    if (given.model) choose(given.model);
    edit(given.edits);
    box.current?.focus();
  }, [given]);
  const quit = () => {
    if (edits) write('');
    edit(undefined);
    answering.end();
    box.current?.focus();
  };
  const write = (next: string) => {
    setText(next);
    held.type(chat, next);
    drafts.set(chat, next);
  };
  const attach = (chosen: readonly File[]) => {
    const work = (reading.current ?? Promise.resolve('')).then(async () => {
      // Where it is not known yet what is taken here, it is asked; where it cannot be known, the server says it.
      const known = accepted.length > 0 ? models : await readModels();
      const added = await add(now.current, chosen, (known.find(({ id }) => id === model) ?? known[0])?.inputTypes ?? []);
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
    if (said || sent.length > 0) say(said || words.onlyFiles, { files: sent, taskId: edits ? undefined : asked?.taskId, edits });
    edit(undefined);
    answering.end();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && (edits || asked)) {
      event.stopPropagation();
      return quit();
    }
    if (event.key === 'ArrowUp' && !text && editLast) {
      event.preventDefault();
      return editLast();
    }
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
              <button type="button" className="icon-button" aria-label={inWords('detach', { name: file.name })} title={inWords('detach', { name: file.name })} onClick={() => { take(files.filter((one) => one !== file)); box.current?.focus(); }}><Close /></button>
            </li>
          ))}
        </ul>
      ) : null}
      {problem ? <p className="problem slim" role="alert">{problem}</p> : null}
      {edits || asked ? (
        <p className="answering" role="status">
          {edits ? <span>{words.editing}</span> : asked ? <span>{words.answers} <strong>{nameOf(asked)}</strong></span> : null}
          <button type="button" className="icon-button" aria-label={words.answersNot} title={words.answersNot} onClick={quit}><Close /></button>
        </p>
      ) : null}
      <label className="unseen" htmlFor="prompt">{words.message}</label>
      <textarea id="prompt" ref={box} rows={1} value={text} placeholder={asked ? words.yourAnswer : isFirst ? words.ask : words.askMore} onChange={({ target }) => write(target.value)} onKeyDown={key} onPaste={paste} />
      <input className="unseen" type="file" multiple tabIndex={-1} aria-hidden="true" ref={chooser} accept={offered(accepted)} onChange={({ target }) => { attach([...(target.files ?? [])]); target.value = ''; }} />
      <button type="button" className="icon-button attach" onClick={() => chooser.current?.click()} aria-label={words.attach} title={accepted.length > 0 && !accepted.includes('*/*') ? `${words.attach}: ${told(accepted)}` : words.attach}><Clip /></button>
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
