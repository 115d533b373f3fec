// What the user thinks of an answer: a press keeps it, another press takes it back.

import { useState } from 'react';
import { send } from '../api.ts';
import { ThumbDown, ThumbUp } from '../parts/icons.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { words } from '../words.ts';

type Verdict = 'good' | 'bad' | null;

interface Shown {
  chat: string;
  task: string;
  /** What they thought before. */
  before: Verdict;
}

export function Thumbs({ chat, task, before }: Shown) {
  const [own, setOwn] = useState<Verdict | undefined>(undefined);
  const { run, problem } = useDoing();
  const verdict = own === undefined ? before : own;
  const think = async (pressed: 'good' | 'bad') => {
    const next = verdict === pressed ? null : pressed;
    setOwn(next);
    if (!(await run(() => send('PUT', `chats/${encodeURIComponent(chat)}/feedback/${encodeURIComponent(task)}`, { verdict: next })))) setOwn(verdict);
  };
  return (
    <>
      <button type="button" className="icon-button" aria-pressed={verdict === 'good'} aria-label={words.helped} title={words.helped} onClick={() => void think('good')}><ThumbUp /></button>
      <button type="button" className="icon-button" aria-pressed={verdict === 'bad'} aria-label={words.helpedNot} title={words.helpedNot} onClick={() => void think('bad')}><ThumbDown /></button>
      <Problem text={problem} />
    </>
  );
}
