// The way to give consent: who asks for what, in words of ours. Only our own looks like a button of ours: what an agent links to is
// said to be the agent's.

import { live } from '../live/live.ts';
import type { Card, ConsentInfo } from '../model.ts';
import { Check } from '../parts/icons.tsx';
import { dayAndTime, say, words } from '../words.ts';

interface Asked {
  authUrl?: string | null | undefined;
  authUrlBy?: string | null | undefined;
  /** Where it leads in the end: a link of an agent's may go through a page of ours first. */
  authUrlHost?: string | null | undefined;
  agentName?: string | null | undefined;
  consent?: ConsentInfo | null | undefined;
}

/** The address, where it is one of the web. */
function address(text: string | null | undefined): URL | null {
  if (!text || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : null;
}

/** What is asked for; what has no words of ours is named as it is. */
export const Scopes = ({ of }: { of: ConsentInfo['scopes'] }) => (
  <ul className="consent-scopes" aria-label={words.allows}>{of.map(({ name, words: said }) => <li key={name}>{said ?? <code>{name}</code>}</li>)}</ul>
);

export function Consent({ asked, tasks = 1 }: { asked: Asked; tasks?: number }) {
  const url = address(asked.authUrl);
  if (!url) return null;
  // What does not say whose it is, is not ours.
  const isOurs = asked.authUrlBy === 'platform';
  const sender = asked.agentName ? `“${asked.agentName}”: ` : '';
  const of = isOurs ? asked.consent : null;
  const title = of ? `${of.agentName} ${words.consentAsks}` : isOurs ? words.consentTitle : words.foreignTitle;
  return (
    <div className="consent">
      <div>
        <strong>{title}</strong>
        {of && of.scopes.length > 0 ? <Scopes of={of.scopes} /> : null}
        <p>{isOurs ? words.consentText : `${sender}${words.foreignText}`}{of?.endsAt && !Number.isNaN(Date.parse(of.endsAt)) ? <> {words.linkUntil} <time dateTime={of.endsAt}>{dayAndTime(of.endsAt)}</time>.</> : null}{tasks > 1 ? <> <strong>{say('tasksWait', { count: tasks })}</strong></> : null}</p>
      </div>
      <a className={isOurs ? 'button primary' : 'foreign-link'} href={url.href} target="_blank" rel="noopener noreferrer" onClick={() => live.hurry()}>
        {isOurs ? words.connect : `${words.openHost} ${asked.authUrlHost || url.host}`}
      </a>
    </div>
  );
}

/** The agents that tasks have waited for a consent to, as far as this page has seen. */
const waited = new Map<string, string>();

/** Whatever of these follows a consent, the consent was given: without it the task is canceled or failed. */
const goesOn = new Set(['submitted', 'working', 'completed', 'input-required']);

/** A consent that was given while the page looked: the card then says so. */
export function Connected({ card }: { card: Card }) {
  if (card.state === 'auth-required' && card.authUrlBy === 'platform') waited.set(card.taskId, card.consent?.agentName ?? card.agentName ?? '');
  const agent = waited.get(card.taskId);
  if (agent === undefined || !goesOn.has(card.state)) return null;
  return <p className="connected"><Check /> {agent ? say('connectedTo', { agent }) : words.connected}</p>;
}
