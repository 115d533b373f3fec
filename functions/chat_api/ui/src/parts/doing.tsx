// What changes something by a button: what the server refuses is said beside it.

import { useState } from 'react';

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const Problem = ({ text }: { text: string }) => (text ? <p className="problem" role="alert">{text}</p> : null);

/** `run` says whether it was done. */
export function useDoing() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const run = async (change: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setProblem('');
    try {
      await change();
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { run, isBusy, problem };
}
