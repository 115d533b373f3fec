// The state of a task: a word and a sign, never a colour alone.

import { Again, Check, Clock, Cross, Done, Key, Question, Slash } from '../parts/icons.tsx';
import { stateOf } from '../words.ts';

const signs: Record<string, () => React.ReactNode> = {
  submitted: Clock,
  planned: Clock,
  'input-required': Question,
  'auth-required': Key,
  completed: Done,
  canceled: Slash,
  skipped: Slash,
  dropped: Slash,
  failed: Cross,
  rejected: Cross,
  unknown: Question,
  connected: Check,
  retried: Again,
};

/** `say` names the state in other words. */
export function Badge({ state, say = stateOf }: { state: string; say?: (state: string) => string }) {
  const Sign = Object.hasOwn(signs, state) ? signs[state] : undefined;
  return (
    <span className="badge" data-state={state}>
      {Sign ? <Sign /> : <span className="pulse" />}
      {say(state)}
    </span>
  );
}
