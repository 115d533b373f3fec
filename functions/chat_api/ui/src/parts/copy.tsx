// A button that copies a text.

import { useState } from 'react';
import { words } from '../words.ts';
import { Check, Copy } from './icons.tsx';

export function CopyButton({ text }: { text: string | (() => Promise<string>) }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" className="icon-button" onClick={() => void copy()} aria-label={isDone ? words.copied : words.copy} title={isDone ? words.copied : words.copy}>
      {isDone ? <Check /> : <Copy />}
    </button>
  );
}
