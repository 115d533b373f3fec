// What waits for the user, wherever they are: counted over all chats, in the tab's title and on the app's icon.

import { useEffect, useSyncExternalStore } from 'react';
import { product, tenant } from '../api.ts';
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

let shown: string = '';

function write(count: number): void {
  const name = [shown, product, shown ? '' : tenant].filter(Boolean).join(' · ');
  document.title = count > 0 ? `(${count}) ${name}` : name;
}

/** Names the view in the tab's title. */
export function useTitle(name: string): void {
  useEffect(() => {
    shown = name;
    write(cards.waiting);
  }, [name]);
}

/** Keeps the title and the icon as they should be. */
export function useAway(): void {
  const count = useWaiting();
  useEffect(() => {
    write(count);
    badge(count);
  }, [count]);
}
