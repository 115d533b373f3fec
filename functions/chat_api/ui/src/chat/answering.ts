// The task whose card the next message answers, where its user has said so at the card.

import { useSyncExternalStore } from 'react';
import { cards, useCards } from '../live/cards.ts';
import { teller } from '../parts/teller.ts';
import type { Card } from '../model.ts';

let chosen: Card | null = null;
/** It was chosen beside another view, on the way to its chat. */
let isAhead = false;
const changes = teller();

const set = (card: Card | null): void => {
  if (chosen === card) return;
  chosen = card;
  changes.tell();
};

export const answering = {
  begin(card: Card): void {
    set(card);
    document.getElementById('prompt')?.focus();
  },
  /** The same from a view that is left for the task's chat. */
  beginThere(card: Card): void {
    isAhead = true;
    set(card);
  },
  /** Another chat is written in: what was answered before is not answered there. */
  arrive(): void {
    if (!isAhead) set(null);
    isAhead = false;
  },
  end: (): void => set(null),
};

/** The card that is answered, as long as its task asks something. */
export function useAnswering(): Card | null {
  const card = useSyncExternalStore(changes.hear, () => chosen);
  useCards();
  return card && cards.newest(card).state === 'input-required' ? card : null;
}
