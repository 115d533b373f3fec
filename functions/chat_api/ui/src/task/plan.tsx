// What is to be done, in which order, and how far each step is: once it has begun, its job says that.

import type { Plan, Step } from '../model.ts';
import { words } from '../words.ts';
import { Badge } from './badge.tsx';

interface Known {
  number: number;
  state: string;
}

export function PlanSteps({ plan, jobs }: { plan: Plan; jobs: readonly Known[] }) {
  return (
    <ol className="steps" aria-label={words.plan}>
      {plan.steps.filter(({ state }) => state !== 'dropped').map((step) => {
        const job = jobs.find(({ number }) => number === step.number);
        const state = step.state === 'planned' && job ? job.state : step.state;
        const after = (step.after ?? []).map((number) => number + 1).join(', ');
        return (
          <li key={step.number} value={step.number + 1}>
            <span className="step-what">
              <strong>{step.agentName || step.agentType}</strong> {step.instruction}
              {after || step.optional || step.reason ? (
                <small>{[after && `${words.after} ${after}`, step.optional && words.optional, step.reason].filter(Boolean).join(' · ')}</small>
              ) : null}
            </span>
            <Badge state={state} />
          </li>
        );
      })}
    </ol>
  );
}

/** What waits for its user's word: to whom it would go, and what it holds. */
export function Guard({ step, answer }: { step: Step; answer: (word: 'yes' | 'no') => void }) {
  const from = step.guard?.from ?? [];
  const to = step.agentName || step.agentType || '';
  return (
    <div className="guard" role="group" aria-label={`${words.maySend} ${to}?`}>
      <p><strong>{words.maySend} {to}?</strong> {from.length > 0 ? `${words.holds} ${from.join(', ')}.` : ''}</p>
      <blockquote>{step.instruction}</blockquote>
      <button type="button" className="primary" onClick={() => answer('yes')}>{words.sendIt}</button>
      <button type="button" onClick={() => answer('no')}>{words.dontSend}</button>
    </div>
  );
}

/** The steps that wait for their user's word. */
export const asked = (plan: Plan | null | undefined): Step[] => (plan?.steps ?? []).filter(({ guard }) => guard?.isAsked);
