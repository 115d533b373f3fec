// The task as a program reads it, and how it would ask for the same: the words of A2A, to be pasted into a terminal.

import { useState } from 'react';
import type { Task } from '../model.ts';
import { CopyButton } from '../parts/copy.tsx';
import { useHost } from '../queries.ts';
import { words } from '../words.ts';
import { asks, type Generation, generations, reads } from './wire.ts';

function Command({ name, text }: { name: string; text: string }) {
  return (
    <figure className="wire">
      <figcaption>{name} <CopyButton text={text} /></figcaption>
      <pre tabIndex={0} aria-label={name}>{text}</pre>
    </figure>
  );
}

export function Wire({ task }: { task: Task }) {
  const host = useHost().data;
  const [generation, choose] = useState<Generation>('1.0');
  const [messageId] = useState(() => crypto.randomUUID());
  if (!host) return null;
  return (
    <details className="told">
      <summary>{words.asCurl}</summary>
      <div className="segments" role="group" aria-label={words.generation}>
        {generations.map((one) => <button key={one} type="button" aria-pressed={one === generation} onClick={() => choose(one)}>A2A {one}</button>)}
      </div>
      <Command name={words.readsTask} text={reads(host, generation, task.id)} />
      {task.prompt ? <Command name={words.asksAgain} text={asks(host, generation, task.prompt, messageId)} /> : null}
      <p className="soft">{words.tokenIsYours}</p>
    </details>
  );
}
