// What the browser keeps for good.

/** What local storage says to it; nothing where the browser stores nothing. */
export function local<T>(ask: (store: Storage) => T): T | null {
  try {
    return ask(localStorage);
  } catch {
    return null;
  }
}
