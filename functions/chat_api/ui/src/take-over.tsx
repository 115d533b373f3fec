// Whoever signs in where a guest has chatted is asked whose those chats are.

import { useState, useSyncExternalStore } from 'react';
import { ApiError, send } from './api.ts';
import { held } from './chat/held.ts';
import { Dialog } from './parts/dialog.tsx';
import { messageOf, Problem } from './parts/doing.tsx';
import { teller } from './parts/teller.ts';
import { askWho, useSession } from './queries.ts';
import { dayAndTime, say, words } from './words.ts';

/** True once the question was closed without an answer: it comes again with the next load. */
let isLater = false;
const changes = teller();
const putOff = () => {
  isLater = true;
  changes.tell();
};

/** What is asked, while it is. */
export function useTakeOver() {
  const { data } = useSession();
  const later = useSyncExternalStore(changes.hear, () => isLater);
  return (!later && data?.takeOver) || null;
}

export function TakeOver() {
  const [problem, setProblem] = useState('');
  const asked = useTakeOver();
  if (!asked) return null;
  const answer = async (take: boolean) => {
    try {
      await send('POST', 'session/guest', { take });
      if (!take) return askWho();
      // Every list is another one now; who writes here is the same.
      held.carry();
      location.reload();
    } catch (error) {
      // There is nothing to be taken over any more.
      if (error instanceof ApiError && error.status === 409) return askWho();
      setProblem(messageOf(error));
    }
  };
  // What is suggested is what Enter says.
  const suggested = (is: boolean) => (button: HTMLButtonElement | null) => { if (asked.suggested === is) queueMicrotask(() => button?.focus()); };
  const most = (isSuggested: boolean) => (asked.suggested === isSuggested ? 'primary' : '');
  return (
    <Dialog aria-labelledby="take-over" onClose={putOff}>
      <div className="asked">
        <h2 id="take-over">{say('takeOverAsk', { count: asked.chats })}</h2>
        <p className="soft">{words.takeOverWhy}{asked.lastAt ? ` ${words.takeOverLast} ${dayAndTime(asked.lastAt)}.` : ''}</p>
        <Problem text={problem} />
        <div className="asked-row">
          <button type="button" className={most(false)} ref={suggested(false)} onClick={() => void answer(false)}>{words.takeOverNot}</button>
          <button type="button" className={most(true)} ref={suggested(true)} onClick={() => void answer(true)}>{words.takeOver}</button>
        </div>
      </div>
    </Dialog>
  );
}
