// What somebody wants to hear of, and whoever tells it.

export interface Teller<T extends unknown[]> {
  /** Hears it until the answer is called. */
  hear: (listener: (...news: T) => void) => () => void;
  tell: (...news: T) => void;
}

export function teller<T extends unknown[] = []>(): Teller<T> {
  const listeners = new Set<(...news: T) => void>();
  return {
    hear(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell(...news) {
      for (const listener of listeners) listener(...news);
    },
  };
}
