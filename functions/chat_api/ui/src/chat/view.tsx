// A chat: its messages, what waits to be sent, and where the user writes.

import { useChat } from '@ai-sdk/react';
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';
import { Down } from '../parts/icons.tsx';
import { Failed, Gone, Loading } from '../parts/states.tsx';
import { words } from '../words.ts';
import { Composer } from './composer.tsx';
import { MessageView } from './message.tsx';
import { Pending } from './pending.tsx';
import { type Session, sessionOf } from './session.ts';
import { Welcome } from './welcome.tsx';

/** Nearer to the end than this, the reader follows what comes. */
const NEAR = 80;

function useEnd(changes: unknown) {
  const log = useRef<HTMLDivElement>(null);
  const thread = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
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
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown has changed
  useLayoutEffect(() => {
    if (follows.current) toEnd();
  }, [changes, toEnd]);
  // What is drawn later makes the thread longer too.
  useEffect(() => {
    if (!thread.current) return;
    const observer = new ResizeObserver(() => {
      if (follows.current) toEnd();
    });
    observer.observe(thread.current);
    return () => observer.disconnect();
  }, [toEnd]);
  return { log, thread, isAway, toEnd, scrolled };
}

function Thread({ session, isNew }: { session: Session; isNew: boolean }) {
  const { messages, status } = useChat({ chat: session.chat, throttle: 50 });
  const state = useSyncExternalStore(session.subscribe, session.snapshot);
  const [, navigate] = useLocation();
  const [given, give] = useState<{ text: string; at: number } | null>(null);
  const isBusy = status === 'submitted' || status === 'streaming';
  // What is being sent stands among the messages already.
  const waiting = state.waiting.filter((entry) => !messages.some(({ id }) => id === entry.id));
  const { log, thread, isAway, toEnd, scrolled } = useEnd([messages, state]);
  useEffect(() => {
    if (!isNew) void session.open();
  }, [session, isNew]);
  const say = useCallback(
    (text: string, taskId?: string) => {
      void session.say(text, taskId);
      if (isNew) navigate(`/chats/${encodeURIComponent(session.id)}`);
      toEnd();
    },
    [session, isNew, navigate, toEnd],
  );
  const newest = messages.findLast(({ role }) => role === 'assistant')?.id;
  const again = useCallback(() => {
    if (newest) void session.regenerate(newest);
  }, [session, newest]);
  if (state.loading === 'gone' && waiting.length === 0 && messages.length === 0) return <Gone />;
  const isEmpty = messages.length === 0 && waiting.length === 0;
  return (
    <>
      <div className="log" ref={log} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label={words.conversation} aria-busy={isBusy}>
        <div className="thread" ref={thread}>
        {isEmpty && state.loading === 'loading' ? <Loading /> : null}
        {isEmpty && state.loading === 'failed' ? <Failed error={null} retry={() => void session.open()} /> : null}
        {isEmpty && isNew ? <Welcome choose={(text) => say(text)} /> : null}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} chat={session.id} reply={say} again={message.id === newest && !isBusy ? again : null} />
        ))}
        {isBusy ? <p className="progress" role="status"><span className="dots"><i /><i /><i /></span> {state.progress || words.thinking}</p> : null}
        {waiting.map((entry) => (
          <Pending key={entry.id} entry={entry} isBusy={isBusy} discard={() => void session.discard(entry.id)} edit={() => { void session.discard(entry.id); give({ text: entry.text, at: Date.now() }); }} />
        ))}
        </div>
      </div>
      <div className="foot">
        {isAway ? <button type="button" className="to-end" onClick={toEnd}><Down /> {words.toEnd}</button> : null}
        {state.isLost ? <p className="notice slim" role="status">{navigator.onLine ? words.reconnecting : words.offline}</p> : null}
        {state.problem ? <p className="notice slim" role="alert">{state.problem}</p> : null}
        <Composer chat={isNew ? '' : session.id} isFirst={isEmpty} isBusy={isBusy} say={say} stop={() => void session.stop()} given={given} />
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
