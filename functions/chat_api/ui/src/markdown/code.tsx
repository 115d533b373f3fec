// A block of code: its language, a way to copy it, and colours once they are loaded.

import { lazy, Suspense } from 'react';
import { CopyButton } from '../parts/copy.tsx';
import { words } from '../words.ts';

const Colours = lazy(() => import('./colours.tsx').catch(() => ({ default: ({ text }: { text: string }) => <>{text}</> })));

export function Code({ text, language }: { text: string; language: string }) {
  const name = language.split(/\s/)[0] ?? '';
  return (
    <figure className="code">
      <figcaption>{name} <CopyButton text={text} /></figcaption>
      <pre tabIndex={0} aria-label={name || words.code}><code>{name ? <Suspense fallback={text}><Colours text={text} language={name} /></Suspense> : text}</code></pre>
    </figure>
  );
}
