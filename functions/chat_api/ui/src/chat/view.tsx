// A chat: its messages, what waits to be sent, and where the user writes.

import { useChat } from '@ai-sdk/react';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';
import { Down, Up } from '../parts/icons.tsx';
import { cards } from '../live/cards.ts';
import { type Card, isActive } from '../model.ts';
import { Failed, Gone, Loading } from '../parts/states.tsx';
import { useModels } from '../queries.ts';
import { isLocal, PROMPT, Survival, survive } from '../survive.tsx';
import { useTakeOver } from '../take-over.tsx';
import { nameOf } from '../task/card.tsx';
import { endOf, words } from '../words.ts';
import { Composer } from './composer.tsx';
import { begin } from './given.ts';
import type { Message } from './drafted.ts';
import { MessageView } from './message.tsx';
import { Pending } from './pending.tsx';
import { type About, type Session, sessionOf } from './session.ts';
import { Welcome } from './welcome.tsx';

/** Nearer to the end than this, the reader follows what comes. */
const NEAR = 80;

/** Earlier messages are read when the reader is so near to the first. */
const AHEAD = '800px 0px 0px';

/** So much of what was before an answer stays above it. */
const ABOVE = 72;

function useEnd(changes: unknown, first: string | undefined) {
  const log = useRef<HTMLDivElement>(null);
  const thread = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  /** Where following has led. */
  const led = useRef(0);
  const before = useRef({ first, height: 0, top: 0 });
  const [isAway, setAway] = useState(false);
  const go = useCallback((top: number) => {
    const box = log.current;
    follows.current = true;
    led.current = Math.max(0, Math.min(top, (box?.scrollHeight ?? 0) - (box?.clientHeight ?? 0)));
    box?.scrollTo({ top: led.current });
  }, []);
  const toEnd = useCallback(() => go(Number.POSITIVE_INFINITY), [go]);
  // An answer that is longer than the view is read from its beginning.
  const follow = useCallback(() => {
    const [box, newest] = [log.current, thread.current?.querySelector<HTMLElement>(':scope > .message:nth-last-child(1 of .message)')];
    if (box && newest) go(box.scrollTop + newest.getBoundingClientRect().top - box.getBoundingClientRect().top - ABOVE);
  }, [go]);
  const scrolled = () => {
    const box = log.current;
    if (!box) return;
    const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    follows.current = isNear || Math.abs(box.scrollTop - led.current) < 2;
    setAway(!isNear);
    before.current.top = box.scrollTop;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown has changed
  useLayoutEffect(() => {
    const box = log.current;
    if (follows.current && first !== undefined) follow();
    // What was read stays before the reader's eyes when earlier messages come above it.
    else if (box && before.current.first !== first) box.scrollTop = before.current.top + box.scrollHeight - before.current.height;
    before.current = { first, height: box?.scrollHeight ?? 0, top: box?.scrollTop ?? 0 };
  }, [changes, first, follow]);
  // What is drawn later makes the thread longer too.
  useEffect(() => {
    if (!thread.current) return;
    const observer = new ResizeObserver(() => {
      if (follows.current && before.current.first !== undefined) follow();
      before.current.height = log.current?.scrollHeight ?? 0;
    });
    observer.observe(thread.current);
    return () => observer.disconnect();
  }, [follow]);
  return { log, thread, isAway, toEnd, scrolled };
}

/** What the messages and their cards need to be drawn first. */
const SETTLED = 400;

/** A task of the chat that has ended, or asks something, above what is seen. */
function useEndedAbove(log: React.RefObject<HTMLDivElement | null>) {
  const [ended, end] = useState<Card | null>(null);
  const cardOf = (id: string) => log.current?.querySelector(`[data-task="${CSS.escape(id)}"]`);
  const isAbove = (id: string): boolean => {
    const card = cardOf(id);
    return card != null && card.getBoundingClientRect().bottom < (log.current?.getBoundingClientRect().top ?? 0) + NEAR;
  };
  useEffect(() => {
    const heard = (card: Card) => {
      if (isActive(card.state)) return;
      setTimeout(() => {
        if (isAbove(card.taskId)) end(card);
      }, SETTLED);
    };
    return cards.hear(heard);
  }, []);
  const look = () => {
    if (ended && !isAbove(ended.taskId)) end(null);
  };
  return { ended, look, show: () => cardOf(ended?.taskId ?? '')?.scrollIntoView({ block: 'center' }) };
}

/** The way to earlier messages: it is taken by itself when it comes near. */
function Earlier({ read }: { read: () => void }) {
  const place = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const button = place.current;
    if (!button) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((one) => one.isIntersecting)) read();
    }, { root: button.closest('.log'), rootMargin: AHEAD });
    observer.observe(button);
    return () => observer.disconnect();
  }, [read]);
  return <button type="button" className="quiet earlier" ref={place} onClick={read}>{words.earlier}</button>;
}

/** Of each task the message that has its card last. */
function lastCards(messages: readonly Message[]): Map<string, string> {
  return new Map(messages.flatMap(({ id, parts }) => parts.flatMap((part) => (part.type === 'data-task' ? [[part.data?.taskId, id] as const] : []))));
}

function Thread({ session, isNew }: { session: Session; isNew: boolean }) {
  const { messages, status } = useChat({ chat: session.chat, throttle: 50 });
  const state = useSyncExternalStore(session.subscribe, session.snapshot);
  const [, navigate] = useLocation();
  const isBusy = status === 'submitted' || status === 'streaming';
  // What is being sent stands among the messages already.
  const waiting = state.waiting.filter((entry) => !messages.some(({ id, parts }) => id === entry.id && (!entry.isEdit || isBusy || parts.some((part) => part.type === 'text' && part.text === entry.text))));
  const { log, thread, isAway, toEnd, scrolled } = useEnd([messages, state], messages[0]?.id);
  const above = useEndedAbove(log);
  const last = useMemo(() => lastCards(messages), [messages]);
  const goesOn = ({ id, parts }: Message) => parts.some((part) => part.type === 'data-task' && last.get(part.data?.taskId) !== id);
  const readOlder = useCallback(() => void session.readOlder(), [session]);
  useEffect(() => {
    if (!isNew) void session.open();
  }, [session, isNew]);
  useEffect(() => {
    session.show(true);
    return () => session.show(false);
  }, [session]);
  const models = useModels().data?.models ?? [];
  // A chat goes on with the agent that was asked last, as long as it is there.
  const [picked, pick] = useState<string | null>(null);
  const wanted = picked ?? messages.findLast(({ role }) => role === 'user')?.metadata?.model;
  // A guest's chat may become this person's yet.
  const isWhoseAsked = useTakeOver() !== null;
  const host = models[0]?.id ?? '';
  const model = models.find(({ id }) => id === wanted)?.id ?? host;
  const leave = useCallback(
    (text: string, about: About) => {
      void session.say(text, about);
      if (isNew) navigate(`/chats/${encodeURIComponent(session.id)}`);
      toEnd();
    },
    [session, isNew, navigate, toEnd],
  );
  // What answers a card goes where the card is from.
  const reply = useCallback((text: string, taskId: string, form?: About['form']) => leave(text, { taskId, form }), [leave]);
  const say = (text: string, about: About) => leave(text, { ...about, ...(about.taskId || model === host ? {} : { model }) });
  // What was filled in or had files is not written anew in words alone.
  const own = messages.findLast(({ role }) => role === 'user');
  const editable = own?.parts.every(({ type }) => type === 'text') && !isBusy ? own.id : null;
  const editLast = useCallback(() => {
    const text = session.chat.messages.find(({ id }) => id === editable)?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
    begin({ text, edits: editable ?? '' });
  }, [session, editable]);
  const newest = messages.findLast(({ role }) => role === 'assistant')?.id;
  const again = useCallback(() => {
    if (newest) void session.regenerate(newest);
  }, [session, newest]);
  if (state.loading === 'gone' && waiting.length === 0 && messages.length === 0) return isWhoseAsked ? <div className="log"><div className="thread"><Loading /></div></div> : <Gone />;
  const isEmpty = messages.length === 0 && waiting.length === 0;
  return (
    <>
      <div className="log" data-away={isAway} ref={log} onScroll={() => { scrolled(); above.look(); }} tabIndex={0} role="log" aria-live="off" aria-label={words.conversation} aria-busy={isBusy}>
        <div className="thread" ref={thread}>
        {isEmpty && state.loading === 'loading' ? <Loading /> : null}
        {isEmpty && state.loading === 'failed' ? <Failed error={null} retry={() => void session.open()} /> : null}
        {isEmpty && isNew ? <Welcome choose={(text) => leave(text, {})} survive={isLocal ? () => { leave(PROMPT, {}); survive(session); } : null} /> : null}
        {state.hasOlder ? <Earlier key={messages[0]?.id} read={readOlder} /> : null}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} goesOn={goesOn(message)} chat={session.id} reply={reply} again={message.id === newest && !isBusy ? again : null} edit={message.id === editable ? editLast : null} />
        ))}
        {isBusy ? <p className="progress" role="status"><span className="dots"><i /><i /><i /></span> {state.progress || words.thinking}</p> : null}
        <Survival chat={session.id} />
        {waiting.map((entry) => (
          <Pending key={entry.id} entry={entry} isBusy={isBusy} again={() => void session.again(entry.id)} discard={() => void session.discard(entry.id)} edit={() => { void session.discard(entry.id); begin({ text: entry.text, files: entry.files ?? [] }); }} />
        ))}
        </div>
      </div>
      <div className="foot">
        {above.ended ? <button type="button" className="to-end" onClick={above.show}>{endOf(nameOf(above.ended), above.ended.state)} <Up /></button> : isAway ? <button type="button" className="to-end" onClick={toEnd}><Down /> {words.toEnd}</button> : null}
        {state.isLost ? <p className="notice slim" role="status">{navigator.onLine ? words.reconnecting : words.offline}</p> : null}
        {state.problem ? <p className="notice slim" role="alert">{state.problem}</p> : null}
        <Composer chat={isNew ? '' : session.id} isFirst={isEmpty} isBusy={isBusy} say={say} stop={() => void session.stop()} models={models} model={model} choose={pick} editLast={editable ? editLast : null} />
      </div>
    </>
  );
}

export function ChatView({ id }: { id: string | null }) {
  const [fresh, setFresh] = useState(() => crypto.randomUUID());
  // A chat that was begun leaves the place free for another.
  useEffect(() => {
    if (id === fresh) setFresh(crypto.randomUUID());
  }, [id, fresh]);
  const session = sessionOf(id ?? fresh);
  return (
    <main className="chat" id="conversation">
      <h1 className="unseen">{words.conversation}</h1>
      <Thread key={session.id} session={session} isNew={id === null} />
    </main>
  );
}
