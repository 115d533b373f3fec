// A chat: its messages, what waits to be sent, and where the user writes.

import { useChat } from '@ai-sdk/react';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';
import { Down } from '../parts/icons.tsx';
import { Failed, Gone, Loading } from '../parts/states.tsx';
import { useModels } from '../queries.ts';
import { isLocal, Survival, survive } from '../survive.tsx';
import { useTakeOver } from '../take-over.tsx';
import { words } from '../words.ts';
import { Composer, type Given } from './composer.tsx';
import type { Message } from './drafted.ts';
import { MessageView } from './message.tsx';
import { Pending } from './pending.tsx';
import { type About, type Session, sessionOf } from './session.ts';
import { Welcome } from './welcome.tsx';

/** Nearer to the end than this, the reader follows what comes. */
const NEAR = 80;

/** Earlier messages are read when the reader is so near to the first. */
const AHEAD = '800px 0px 0px';

function useEnd(changes: unknown, first: string | undefined) {
  const log = useRef<HTMLDivElement>(null);
  const thread = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const before = useRef({ first, height: 0, top: 0 });
  const [isAway, setAway] = useState(false);
  const toEnd = useCallback(() => {
    follows.current = true;
    log.current?.scrollTo({ top: log.current.scrollHeight });
  }, []);
  const scrolled = () => {
    const box = log.current;
    if (!box) return;
    follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    setAway(!follows.current);
    before.current.top = box.scrollTop;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown has changed
  useLayoutEffect(() => {
    const box = log.current;
    if (follows.current && first !== undefined) toEnd();
    // What was read stays before the reader's eyes when earlier messages come above it.
    else if (box && before.current.first !== first) box.scrollTop = before.current.top + box.scrollHeight - before.current.height;
    before.current = { first, height: box?.scrollHeight ?? 0, top: box?.scrollTop ?? 0 };
  }, [changes, first, toEnd]);
  // What is drawn later makes the thread longer too.
  useEffect(() => {
    if (!thread.current) return;
    const observer = new ResizeObserver(() => {
      if (follows.current && before.current.first !== undefined) toEnd();
      before.current.height = log.current?.scrollHeight ?? 0;
    });
    observer.observe(thread.current);
    return () => observer.disconnect();
  }, [toEnd]);
  return { log, thread, isAway, toEnd, scrolled };
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
  const [given, give] = useState<Given | null>(null);
  const isBusy = status === 'submitted' || status === 'streaming';
  // What is being sent stands among the messages already.
  const waiting = state.waiting.filter((entry) => !messages.some(({ id }) => id === entry.id));
  const { log, thread, isAway, toEnd, scrolled } = useEnd([messages, state], messages[0]?.id);
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
  const say = (text: string, files: About['files'], taskId?: string) => leave(text, { files, ...(taskId ? { taskId } : model === host ? {} : { model }) });
  const newest = messages.findLast(({ role }) => role === 'assistant')?.id;
  const again = useCallback(() => {
    if (newest) void session.regenerate(newest);
  }, [session, newest]);
  if (state.loading === 'gone' && waiting.length === 0 && messages.length === 0) return isWhoseAsked ? <div className="log"><div className="thread"><Loading /></div></div> : <Gone />;
  const isEmpty = messages.length === 0 && waiting.length === 0;
  return (
    <>
      <div className="log" data-away={isAway} ref={log} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label={words.conversation} aria-busy={isBusy}>
        <div className="thread" ref={thread}>
        {isEmpty && state.loading === 'loading' ? <Loading /> : null}
        {isEmpty && state.loading === 'failed' ? <Failed error={null} retry={() => void session.open()} /> : null}
        {isEmpty && isNew ? <Welcome choose={(text) => leave(text, {})} survive={isLocal ? () => { leave(words.survivePrompt, {}); survive(session); } : null} /> : null}
        {state.hasOlder ? <Earlier key={messages[0]?.id} read={readOlder} /> : null}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} goesOn={goesOn(message)} chat={session.id} reply={reply} again={message.id === newest && !isBusy ? again : null} />
        ))}
        {isBusy ? <p className="progress" role="status"><span className="dots"><i /><i /><i /></span> {state.progress || words.thinking}</p> : null}
        <Survival chat={session.id} />
        {waiting.map((entry) => (
          <Pending key={entry.id} entry={entry} isBusy={isBusy} again={() => void session.again(entry.id)} discard={() => void session.discard(entry.id)} edit={() => { void session.discard(entry.id); give({ text: entry.text, files: entry.files ?? [], at: Date.now() }); }} />
        ))}
        </div>
      </div>
      <div className="foot">
        {isAway ? <button type="button" className="to-end" onClick={toEnd}><Down /> {words.toEnd}</button> : null}
        {state.isLost ? <p className="notice slim" role="status">{navigator.onLine ? words.reconnecting : words.offline}</p> : null}
        {state.problem ? <p className="notice slim" role="alert">{state.problem}</p> : null}
        <Composer chat={isNew ? '' : session.id} isFirst={isEmpty} isBusy={isBusy} say={say} stop={() => void session.stop()} models={models} model={model} choose={pick} given={given} />
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
