// What became of each part of what was said, where that is more than one: nothing vanishes behind the rest.

import type { Clause } from '../model.ts';
import { named, words } from '../words.ts';
import { Badge } from './badge.tsx';

export function Clauses({ clauses }: { clauses: readonly Clause[] }) {
  return (
    <ul className="clauses" aria-label={words.parts}>
      {clauses.filter(({ fate }) => fate !== 'talk').map(({ said, fate, agents }, place) => (
        <li key={place}>
          <q>{said}</q>
          {(agents ?? []).map(({ agentType, agentName, state }) => (
            <span key={agentType} className="clause-fate">{agentName || agentType} <Badge state={state || 'planned'} /></span>
          ))}
          {agents ? null : <span className="clause-fate" data-fate={fate}>{named('fates', fate)}</span>}
        </li>
      ))}
    </ul>
  );
}
