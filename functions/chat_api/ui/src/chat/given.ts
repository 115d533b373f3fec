// What the composer is to begin with, said from elsewhere on the page.

import { useSyncExternalStore } from 'react';
import { teller } from '../parts/teller.ts';
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
const changes = teller();

export function begin(with_: Given): void {
  given = { ...with_ };
  changes.tell();
}

/** Each once: another is another object. */
export const useGiven = (): Given | null => useSyncExternalStore(changes.hear, () => given);

/** It was taken over. */
export const taken = (): void => {
  given = null;
};
