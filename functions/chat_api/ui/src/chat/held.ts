// What is in the composer and not sent: files, which are kept nowhere else, and what was typed. It outlives a look at another view,
// and the page where that has to begin anew as it hears whose it is.

import { root } from '../api.ts';
import { mayBecomeCode } from '../codes.ts';
import type { Attached } from './attached.ts';

interface Held {
  text: string;
  files: readonly Attached[];
}

const nothing: Held = { text: '', files: [] };
const carried = `switchyard:${root}:carried`;
/** Whoever was carried something has long read it. */
const AGE = 60_000;

const all = new Map<string, Held>();

function change(chat: string, now: Partial<Held>): void {
  const next = { ...(all.get(chat) ?? nothing), ...now };
  if (next.text || next.files.length > 0) all.set(chat, next);
  else all.delete(chat);
}

/** What the page before this one has handed on; once. */
function arrive(): void {
  try {
    const text = sessionStorage.getItem(carried);
    sessionStorage.removeItem(carried);
    const { at, held }: { at: number; held: [string, Held][] } = JSON.parse(text ?? '{"at":0,"held":[]}');
    if (Math.abs(Date.now() - at) < AGE) for (const [chat, one] of held) all.set(chat, one);
  } catch {
    // A browser that stores nothing hands nothing on.
  }
}
arrive();

export const held = {
  files: (chat: string): readonly Attached[] => all.get(chat)?.files ?? [],
  /** What was typed since the page was loaded. */
  text: (chat: string): string => all.get(chat)?.text ?? '',
  type: (chat: string, text: string): void => change(chat, { text }),
  attach: (chat: string, files: readonly Attached[]): void => change(chat, { files }),
  /** Whether leaving the page would lose something. */
  get isAny(): boolean {
    return all.size > 0;
  },
  /** Hands it on to the next page in this tab. */
  carry(): void {
    const some = [...all].map(([chat, { text, files }]) => [chat, { text: mayBecomeCode(text) ? '' : text, files }]);
    try {
      if (some.length > 0) sessionStorage.setItem(carried, JSON.stringify({ at: Date.now(), held: some }));
    } catch {
      // As above.
    }
  },
};
