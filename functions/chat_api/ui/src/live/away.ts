// What waits for the user, and what has ended while they were away: over all chats, in the tab's title and on its icon.

import { useEffect, useSyncExternalStore } from 'react';
import { product, tenant } from '../api.ts';
import { isOver } from '../model.ts';
import { endOf, words } from '../words.ts';
import { cards } from './cards.ts';

/** So many tasks wait for an answer or a consent, as far as this tab has heard. */
export const useWaiting = (): number => useSyncExternalStore(cards.watch, () => cards.waiting);

interface Badged {
  setAppBadge?: (count: number) => Promise<void>;
  clearAppBadge?: () => Promise<void>;
}

/** Only installed pages have an icon: elsewhere the browser says no, and that is well. */
function badge(count: number): void {
  const own = navigator as unknown as Badged;
  const set = count > 0 ? own.setAppBadge?.(count) : own.clearAppBadge?.();
  set?.catch(() => undefined);
}

let shown = '';
/** What has ended while nobody looked. */
let ended = '';
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
const plain = icon?.href ?? '';
/** The same with a dot: of a picture of one's own nothing is known. */
const dotted = plain.includes('%3C/svg') ? plain.replace('%3C/svg', "%3Ccircle cx='12' cy='4' r='4' fill='%23d9480f'/%3E%3C/svg") : plain;

function write(): void {
  const [count, name] = [cards.waiting, [ended || shown, product, shown ? '' : tenant].filter(Boolean).join(' · ')];
  document.title = `${count > 0 ? `(${count}) ` : ''}${ended ? '✓ ' : ''}${name}`;
  if (icon) icon.href = count > 0 || ended ? dotted : plain;
  badge(count);
}

/** Names the view in the tab's title. */
export function useTitle(name: string): void {
  useEffect(() => {
    shown = name;
    write();
  }, [name]);
}

/** Keeps the title and the icons as they should be. */
export function useAway(): void {
  const count = useWaiting();
  useEffect(write, [count]);
  useEffect(() => {
    const seen = () => {
      if (document.visibilityState === 'visible') ended = '';
      write();
    };
    document.addEventListener('visibilitychange', seen);
    const deaf = cards.hear((card) => {
      if (document.visibilityState === 'visible' || !isOver(card.state)) return;
      ended = endOf(card.agentName || card.agentType || words.task, card.state);
      write();
    });
    return () => {
      deaf();
      document.removeEventListener('visibilitychange', seen);
    };
  }, []);
}
