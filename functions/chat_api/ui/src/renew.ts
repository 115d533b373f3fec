// A sign-in that is nearly over is renewed while its issuer still knows the person, who is asked nothing.

import type { Session } from './model.ts';

/** So long before its end. */
const SOON = 60 * 60_000;
const tried = 'switchyard-renewed';

/** Whether a sign-in ends so soon that another one is fetched. */
export function endsSoon({ who, until }: Pick<Session, 'who' | 'until'>, now: number): boolean {
  const left = Date.parse(until ?? '') - now;
  return who === 'person' && left > 0 && left <= SOON;
}

/** Leads to the issuer and back to this view, once for each sign-in, and not while somebody is writing. */
export function renew(session: Session, signIn: string): void {
  const field = document.activeElement;
  const isWriting = field instanceof HTMLTextAreaElement && field.value !== '';
  if (isWriting || document.hidden || !endsSoon(session, Date.now())) return;
  try {
    if (sessionStorage.getItem(tried) === session.until) return;
    sessionStorage.setItem(tried, session.until ?? '');
  } catch {
    // What cannot be remembered would be tried for ever.
    return;
  }
  location.replace(`${signIn}&prompt=none`);
}
