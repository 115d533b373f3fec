// Waiting between two attempts: 0.5 to 15 s, doubling, with jitter; at once when the browser is online again.

const FIRST = 500;
const MOST = 15_000;

/** Milliseconds before the attempt after so many failures. */
export const pause = (failures: number, chance = Math.random()): number =>
  Math.min(MOST, FIRST * 2 ** Math.min(failures, 10)) * (0.5 + chance / 2);

/** Resolves after that time, or with the network's return. */
export function rest(failures: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, pause(failures));
    addEventListener('online', done);
    signal?.addEventListener('abort', done);
  });
}
