// What is to be done, in which order, and how far each step is: once it has begun, its job says that.

import type { Card, Plan, Step } from '../model.ts';
import { words } from '../words.ts';
import { Badge } from './badge.tsx';

interface Known {
  number: number;
  state: string;
}

/** Where a step stands: once it has begun, its job says that. */
const stateIn = (step: Step, jobs: readonly Known[]): string => {
  const job = jobs.find(({ number }) => number === step.number);
  return step.state === 'planned' && job ? job.state : step.state;
};

const failures = new Set(['failed', 'rejected', 'canceled', 'unknown', 'skipped']);

/** The steps of a plan that its user is asked about because they failed: what only waited for them is not among them. */
export function failedSteps({ state, plan, jobs }: Pick<Card, 'state' | 'plan' | 'jobs'>): number[] {
  if (!plan?.isApproved || state !== 'input-required' || asked(plan).length > 0) return [];
  const wanted = plan.steps.filter((step) => step.state !== 'dropped' && failures.has(stateIn(step, jobs ?? [])));
  const numbers = new Set(wanted.map(({ number }) => number));
  return wanted.filter(({ after, uses }) => ![...(after ?? []), ...(uses ?? [])].some((number) => numbers.has(number))).map(({ number }) => number);
}

export function PlanSteps({ plan, jobs }: { plan: Plan; jobs: readonly Known[] }) {
  return (
    <ol className="steps" aria-label={words.plan}>
      {plan.steps.filter(({ state }) => state !== 'dropped').map((step) => {
        const state = stateIn(step, jobs);
        const after = [...new Set([...(step.after ?? []), ...(step.uses ?? [])])].map((number) => number + 1).sort((one, two) => one - two).join(', ');
        return (
          <li key={step.number} value={step.number + 1}>
            <span className="step-number" aria-hidden="true">{step.number + 1}</span>
            <span className="step-what">
              <strong>{step.agentName || step.agentType}</strong> <span>{step.instruction}</span>
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
