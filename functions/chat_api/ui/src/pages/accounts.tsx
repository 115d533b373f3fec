// Where the user is connected, what that allows, and the way out of it.

import { useState } from 'react';
import { product, send } from '../api.ts';
import type { Connection } from '../model.ts';
import { Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { keys, queries, useConnections } from '../queries.ts';
import { words } from '../words.ts';

/** The id of our own authorization server among the providers. */
const OWN = 'idp';

/** What the connection allows, in our words; a scope that has none is named as it is. */
function Allows({ of }: { of: Connection }) {
  const all = of.allows ?? of.scopes.map((name) => ({ name, words: null }));
  if (all.length === 0) return null;
  return (
    <div className="scopes">
      <p>{words.allows}</p>
      <ul>{all.map(({ name, words: said }) => <li key={name}>{said ?? <code>{name}</code>}</li>)}</ul>
    </div>
  );
}

function Account({ connection }: { connection: Connection }) {
  const [asks, ask] = useState(false);
  const [problem, setProblem] = useState('');
  const provider = connection.provider === OWN ? words.ownAccount(product) : connection.provider;
  const name = [provider, connection.account, connection.agent].filter(Boolean).join(' · ');
  const disconnect = async () => {
    try {
      await send('DELETE', `connections/${encodeURIComponent(connection.id)}`);
      await queries.invalidateQueries({ queryKey: keys.connections });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <li className="account">
      <div>
        <h2>{name}</h2>
        <p className="soft">{connection.connectedAt ? <>{words.connectedSince} <Time at={connection.connectedAt} /></> : null}{connection.lastUsedAt ? <> · {words.lastUsed} <Time at={connection.lastUsedAt} /></> : null}</p>
        <Allows of={connection} />
      </div>
      {asks ? (
        <div className="account-ask" role="group" aria-label={words.disconnectAsk}>
          <p>{words.disconnectAsk}</p>
          <button type="button" className="danger" onClick={() => void disconnect()}>{words.disconnect}</button>
          <button type="button" onClick={() => ask(false)}>{words.keep}</button>
        </div>
      ) : <button type="button" onClick={() => ask(true)} aria-label={`${words.disconnect} ${name}`}>{words.disconnect}</button>}
      {problem ? <p className="problem" role="alert">{problem}</p> : null}
    </li>
  );
}

export function AccountsPage() {
  const { data, error, isPending, refetch } = useConnections();
  return (
    <main className="page" id="conversation">
      <h1>{words.accounts}</h1>
      {isPending ? <Loading /> : null}
      {error && !data ? <Failed error={error} retry={() => void refetch()} /> : null}
      {data?.connections.length === 0 ? <p className="soft">{words.noAccounts}</p> : null}
      <ul className="accounts">{data?.connections.map((one) => <Account key={one.id} connection={one} />)}</ul>
      {data?.unasked?.length ? <p className="soft">{words.unasked} {data.unasked.join(', ')}</p> : null}
    </main>
  );
}
