// What became of each part of what was said, where that is more than one: nothing vanishes behind the rest.

import type { Clause } from '../model.ts';
import { named, words } from '../words.ts';
import { Badge } from './badge.tsx';

/** Of a task with a plan, whose steps tell the rest, what is left out of it. */
export function Clauses({ clauses, plan }: { clauses: readonly Clause[] | null | undefined; plan: unknown }) {
  const shown = (clauses ?? []).filter(({ fate }) => (plan ? fate === 'refused' : fate !== 'talk'));
  return shown.length === 0 ? null : (
    <ul className="clauses" aria-label={words.parts}>
      {shown.map(({ said, fate, agents }, place) => (
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
