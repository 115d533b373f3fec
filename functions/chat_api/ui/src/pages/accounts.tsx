// Where the user is connected, what that allows, and the way out of it.

import { product, send } from '../api.ts';
import type { Connection } from '../model.ts';
import { Sure } from '../parts/dialog.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Shown } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { keys, queries, useConnections } from '../queries.ts';
import { Scopes } from '../task/consent.tsx';
import { say, words } from '../words.ts';

/** The id of our own authorization server among the providers. */
const OWN = 'idp';

function Account({ connection }: { connection: Connection }) {
  const { run, problem } = useDoing();
  const provider = connection.provider === OWN ? say('ownAccount', { product }) : connection.provider.charAt(0).toUpperCase() + connection.provider.slice(1);
  // For whom it is stands first: that is what its user remembers.
  const name = [connection.agent, provider, connection.account].filter(Boolean).join(' · ');
  const disconnect = () => run(async () => {
    await send('DELETE', `connections/${encodeURIComponent(connection.id)}`);
    await queries.invalidateQueries({ queryKey: keys.connections });
  });
  return (
    <li className="account">
      <div>
        <h2>{name}</h2>
        <p className="soft">{connection.connectedAt ? <>{words.connectedSince} <Time at={connection.connectedAt} /></> : null}{connection.lastUsedAt ? <> · {words.lastUsed} <Time at={connection.lastUsedAt} /></> : null}</p>
        {connection.scopes.length > 0 ? <div className="scopes"><p>{words.allows}</p><Scopes of={connection.allows ?? connection.scopes.map((name) => ({ name, words: null }))} /></div> : null}
      </div>
      <Sure does={words.disconnect} to={name} asks={words.disconnectAsk} then={disconnect} />
      <Problem text={problem} />
    </li>
  );
}

export function AccountsPage() {
  return (
    <main className="page" id="conversation">
      <h1>{words.accounts}</h1>
      <Shown of={useConnections()}>{({ connections, unasked }) => (
        <>
          {connections.length === 0 ? <p className="soft">{words.noAccounts}</p> : null}
          <ul className="accounts">{connections.map((one) => <Account key={one.id} connection={one} />)}</ul>
          {unasked?.length ? <p className="soft">{words.unasked} {unasked.join(', ')}</p> : null}
        </>
      )}</Shown>
    </main>
  );
}
