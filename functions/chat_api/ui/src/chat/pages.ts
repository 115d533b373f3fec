// A chat's messages come in pages; the newest page is read again and again.

interface Known {
  id: string;
}

/** The newest page behind what was shown before it; `isLonger` where something of that stays. */
export function joined<M extends Known>(shown: readonly M[], page: readonly M[]): { messages: M[]; isLonger: boolean } {
  const first = page[0];
  const place = first ? shown.findIndex(({ id }) => id === first.id) : -1;
  // What was shown has nothing to do with it, or begins with it.
  if (place <= 0) return { messages: [...page], isLonger: false };
  return { messages: [...shown.slice(0, place), ...page], isLonger: true };
}
