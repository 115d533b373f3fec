// The newest card of each task that this tab has heard of. A card in a message is as old as the message; this one is newer.

import { useSyncExternalStore } from 'react';
import { teller } from '../parts/teller.ts';
import { Card, isActive, isOver, waitsForUser } from '../model.ts';

const known = new Map<string, Card>();
const news = teller<[Card]>();
/** Told of what this tab's own stream brings. */
const followed = teller<[Card]>();
/** Told of every change, also of what is no news. */
const changes = teller();
let waiting = 0;
let version = 0;

const isNewer = (card: Card, than: Card): boolean => (card.updatedAt ?? '') > (than.updatedAt ?? '');

/** False where it is no news. */
function note(card: Card): boolean {
  const before = known.get(card.taskId);
  if (before && !isNewer(card, before)) return false;
  const counts = (one: Card | undefined): number => (one && waitsForUser(one.state) ? 1 : 0);
  waiting += counts(card) - counts(before);
  known.set(card.taskId, card);
  version += 1;
  changes.tell();
  return true;
}

/** What a card asks its user to agree to; null where that is nothing of ours. */
const consentOf = ({ state, authUrlBy, agentName, consent }: Card): string | null =>
  state === 'auth-required' && authUrlBy === 'platform' ? JSON.stringify([consent?.provider, consent?.agentName ?? agentName, consent?.scopes]) : null;

export const cards = {
  /** Takes note of a card that somebody shows already. */
  learn(card: Card): void {
    note(card);
  },
  /** A card that came by itself: whoever shows the task shows it now. False where it is no news. */
  update(card: Card): boolean {
    const isNews = note(card);
    if (isNews) news.tell(card);
    return isNews;
  },
  /** The same of a stream that is being followed: whoever says what changes hears of it. */
  follow(card: Card): void {
    if (note(card)) followed.tell(card);
  },
  /** Hears each change that is news, wherever it came from. */
  hear(listener: (card: Card) => void): () => void {
    const deaf = [news.hear(listener), followed.hear(listener)];
    return () => deaf.forEach((end) => end());
  },
  listen: news.hear,
  watch: changes.hear,
  /** So many wait for their user. */
  get waiting(): number {
    return waiting;
  },
  find(id: string): Card | undefined {
    return known.get(id);
  },
  /** This card, or the newer one that was heard of. */
  newest(shown: Card): Card {
    const heard = known.get(shown.taskId);
    return heard && isNewer(heard, shown) ? heard : shown;
  },
  /** All that wait for the same consent as this one, which go on with it. */
  waitingWith(card: Card): Card[] {
    const asked = consentOf(card);
    return asked === null ? [] : [...known.values()].filter((one) => consentOf(one) === asked);
  },
  /** The host's model may be writing the task's answer. */
  isWriting(id: string): boolean {
    return known.get(id)?.writing === true;
  },
  isOver(id: string): boolean {
    return isOver(known.get(id)?.state ?? '');
  },
  get anyActive(): boolean {
    return [...known.values()].some(({ state }) => isActive(state));
  },
  get anyUnfinished(): boolean {
    return [...known.values()].some(({ state }) => !isOver(state));
  },
};

/** This card, or the newer one that was heard of. */
export function useCard(shown: Card): Card {
  useSyncExternalStore(cards.listen, () => known.get(shown.taskId));
  return cards.newest(shown);
}

/** Draws anew with every change of any card. */
export const useCards = (): number => useSyncExternalStore(cards.watch, () => version);
