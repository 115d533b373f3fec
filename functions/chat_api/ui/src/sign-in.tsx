// Who is there: the page is drawn for whoever may be here, and for nobody else.

import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { product, refusal, root, whenSignedOut } from './api.ts';
import { held } from './chat/held.ts';
import { forgetTold } from './live/push.ts';
import type { Session } from './model.ts';
import { messageOf, Problem } from './parts/doing.tsx';
import { Mark } from './parts/icons.tsx';
import { Loading } from './parts/states.tsx';
import { askWho, leaving, useSession } from './queries.ts';
import { renew } from './renew.ts';
import { forget, owner } from './storage.ts';
import { choose, language, languages, words } from './words.ts';

/** Where one signs in, to come back to this view. */
export function useSignIn(): string {
  const [view] = useLocation();
  return `${root}/signin?return=${encodeURIComponent(view.replace(/^\//, ''))}`;
}

/** Draws the page once it is known that whoever is there may use it. */
export function Gate({ children }: { children: ReactNode }) {
  const { data, dataUpdatedAt, failureCount, errorUpdateCount } = useSession();
  const isDrawn = useRef(false);
  const signIn = useSignIn();
  useEffect(() => {
    // A session that ended meanwhile: what is refused for that says so, and what was begun here is nobody else's.
    whenSignedOut(() => void forget().then(askWho));
    return owner.elsewhere(askWho);
  }, []);
  useEffect(() => {
    // Who is there is asked for anew whenever somebody comes back to the page: that is when there is time for it, unless files or
    // words wait here to be sent.
    if (data && !held.isAny) renew(data, signIn);
  }, [dataUpdatedAt]);
  // A server that cannot be reached is no reason to hide what this browser has, also while it is asked again; it lets nobody in by that.
  isDrawn.current ||= failureCount + errorUpdateCount > 0;
  if (!data) return isDrawn.current ? children : <main className="page" id="conversation"><Loading /></main>;
  if (!data.signInRequired || data.who === 'person') return children;
  return (
    <main className="page sign-in" id="conversation">
      <h1><Mark /> {product}</h1>
      <p>{words.signInFirst}</p>
      <p><a className="button primary" href={signIn}>{words.signIn}</a></p>
    </main>
  );
}

function Person({ session }: { session: Session }) {
  const [problem, setProblem] = useState('');
  const leave = async () => {
    // The answer empties the browser's storage, of which this tab hears as if another had signed out.
    leaving(true);
    try {
      await forgetTold().catch(() => undefined);
      const response = await fetch(`${root}/signout`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
      if (!response.ok) throw await refusal(response);
      const { next }: { next: string } = await response.json();
      // What was begun here is nobody else's.
      await forget();
      location.assign(next);
    } catch (error) {
      leaving(false);
      setProblem(messageOf(error));
    }
  };
  return (
    <div className="who">
      <p>{words.signedInAs} <strong>{session.name || session.username}</strong></p>
      <button type="button" className="quiet" onClick={() => void leave()}>{words.signOut}</button>
      <Problem text={problem} />
    </div>
  );
}

/** The languages by their own names; what is chosen begins the page anew. */
function Language() {
  const nameOf = (name: string) => new Intl.DisplayNames(name, { type: 'language' }).of(name);
  const change = (name: string) => {
    choose(name);
    held.carry();
    location.replace(location.pathname);
  };
  return (
    <label className="language">
      <span className="unseen">{words.language}</span>
      <select value={language} onChange={({ target }) => change(target.value)}>{languages.map((name) => <option key={name} value={name} lang={name}>{nameOf(name)}</option>)}</select>
    </label>
  );
}

/** Who is there, the way in or out, and the language. */
export function Who() {
  const { data } = useSession();
  const signIn = useSignIn();
  if (!data) return null;
  if (data.who === 'person') return <><Person session={data} /><Language /></>;
  return <><div className="who"><p>{words.guest}</p><a href={signIn}>{words.signIn}</a></div><Language /></>;
}
