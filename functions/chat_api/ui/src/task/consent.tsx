// The way to give consent. Only our own looks like a button of ours: what an agent links to is said to be the agent's.

import { live } from '../live/live.ts';
import { words } from '../words.ts';

interface Asked {
  authUrl?: string | null | undefined;
  authUrlBy?: string | null | undefined;
  agentName?: string | null | undefined;
}

/** The address, where it is one of the web. */
function address(text: string | null | undefined): URL | null {
  if (!text || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : null;
}

export function Consent({ asked }: { asked: Asked }) {
  const url = address(asked.authUrl);
  if (!url) return null;
  const isOurs = (asked.authUrlBy ?? 'platform') === 'platform';
  return (
    <div className="consent">
      <div>
        <strong>{isOurs ? words.consentTitle : words.foreignTitle}</strong>
        <p>{isOurs ? words.consentText : words.foreignText}</p>
      </div>
      <a className={isOurs ? 'button primary' : 'foreign-link'} href={url.href} target="_blank" rel="noopener noreferrer" onClick={() => live.hurry()}>
        {isOurs ? words.connect : `${words.openHost} ${url.host}`}
      </a>
    </div>
  );
}
