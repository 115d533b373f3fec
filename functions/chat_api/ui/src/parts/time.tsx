// A time as how long ago it was; it grows old by itself.

import { useSyncExternalStore } from 'react';
import { ago, wholeTime } from '../words.ts';

const EVERY = 20_000;

let now = Date.now();
const subscribe = (listener: () => void) => {
  const timer = setInterval(() => {
    now = Date.now();
    listener();
  }, EVERY);
  return () => clearInterval(timer);
};

export function Time({ at }: { at: string }) {
  useSyncExternalStore(subscribe, () => now);
  return <time dateTime={at} title={wholeTime(at)}>{ago(at)}</time>;
}
