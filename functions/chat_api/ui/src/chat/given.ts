// What the composer is to begin with, said from elsewhere on the page.

import { useSyncExternalStore } from 'react';
import type { Attached } from './attached.ts';

export interface Given {
  text?: string;
  files?: Attached[];
  /** The agent that it is for. */
  model?: string;
  /** The message in whose place it is sent. */
  edits?: string;
}

let given: Given | null = null;
const listeners = new Set<() => void>();

export function begin(with_: Given): void {
  given = { ...with_ };
  for (const listener of listeners) listener();
}

const watch = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Each once: another is another object. */
export const useGiven = (): Given | null => useSyncExternalStore(watch, () => given);

/** It was taken over. */
export const taken = (): void => {
  given = null;
};
