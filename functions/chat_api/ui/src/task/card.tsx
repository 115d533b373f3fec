// A task as it stands in the chat: who works on it, how far it is, and what can be done about it.

import { Link } from 'wouter';
import { answering } from '../chat/answering.ts';
import { cards, useCard, useCards } from '../live/cards.ts';
import { Linked } from '../markdown/markdown.tsx';
import { type Card, isOver, mayRetry, questionOf, withoutQuestion } from '../model.ts';
import { Arrow } from '../parts/icons.tsx';
import { Problem } from '../parts/doing.tsx';
import { Time } from '../parts/time.tsx';
import { words } from '../words.ts';
import { Instead, useActions } from './act.tsx';
import { Answer } from './answer.tsx';
import { Badge } from './badge.tsx';
import { Clauses } from './clauses.tsx';
import { Connected, Consent } from './consent.tsx';
import { PlanSteps } from './plan.tsx';
import { Replies } from './replies.tsx';

interface Shown {
  card: Card;
  /** Where its panel is. */
  href: string;
  /** What the answer says of it, once it does. */
  says: string;
  /** A later message has the task's card too: there it goes on. */
  goesOn: boolean;
  /** It stands in the newest answer. */
  isNewest: boolean;
  /** Says something in reply to it. */
  reply: (text: string, taskId: string, form?: Record<string, unknown>) => void;
}

export const nameOf = (card: Pick<Card, 'plan' | 'jobs' | 'agentName' | 'agentType' | 'title'>): string => {
  const agents = [...new Set([...(card.plan?.steps ?? []), ...(card.jobs ?? [])].map(({ agentName, agentType }) => agentName || agentType).filter(Boolean))];
  if (agents.length > 1) return agents.join(' + ');
  return card.agentName || card.agentType || card.title || words.task;
};

export function TaskCard({ card: shown, href, says, goesOn, isNewest, reply }: Shown) {
  const card = useCard(shown);
  const { run, isBusy, problem } = useActions(card.taskId);
  const { plan } = card;
  const waitsForStart = plan && !plan.isApproved && card.state === 'input-required';
  const question = questionOf(card);
  // One of a chat's cards asks for all that wait for the same.
  useCards();
  const together = cards.waitingWith(card);
  const first = together.find(({ contextId }) => contextId === card.contextId);
  const jobs = (card.jobs ?? []).filter(() => !plan && !card.clauses);
  if (goesOn) {
    return (
      <section className="card" data-state="past" aria-label={`${words.task}: ${nameOf(card)}, ${words.goesOn}`}>
        <div className="card-top">
          <Link className="card-name" href={href}>{nameOf(card)} <Arrow /></Link>
          <span className="card-age">{words.goesOn}</span>
        </div>
      </section>
    );
  }
  return (
    <section className="card" data-state={card.state} data-task={card.taskId} aria-label={`${words.task}: ${nameOf(card)}`}>
      <div className="card-top">
        <Link className="card-name" href={href}>
          {nameOf(card)} <Arrow />
        </Link>
        {card.updatedAt ? <span className="card-age"><Time at={card.updatedAt} /></span> : null}
        <Badge state={card.state} />
      </div>
      {!question && !isOver(card.state) && card.statusMessage && !says.includes(card.statusMessage.trim()) ? <p className="card-what">{card.statusMessage}</p> : null}
      {card.outcome ? <p className="card-what">{card.outcome}</p> : null}
      <Clauses clauses={card.clauses} plan={plan} />
      {plan ? <PlanSteps plan={plan} jobs={card.jobs ?? []} /> : null}
      {jobs.length > 0 ? (
        <ul className="card-jobs">
          {jobs.map((job) => <li key={job.number}><span>{job.agentName || job.agentType}</span><Badge state={job.state} /></li>)}
        </ul>
      ) : null}
      <Linked links={card.links}><Answer card={card} says={withoutQuestion(says, question)} isNewest={isNewest} /></Linked>
      {first === undefined || first.taskId === card.taskId ? <Consent asked={card} tasks={together.length} /> : <p className="card-what"><Link href={href.replace(card.taskId, first.taskId)}>{words.sameConsent}</Link></p>}
      <Connected card={card} />
      <Problem text={problem} />
      <Replies card={card} reply={(text, data) => reply(text, card.taskId, data)} write={() => answering.begin(card)}>
        {waitsForStart ? <button type="button" className="primary" disabled={isBusy} onClick={() => void run('start', { plan: plan.hash })}>{words.start}</button> : null}
        {mayRetry(card.state) ? <button type="button" disabled={isBusy} onClick={() => void run('retry')}>{words.retry}</button> : null}
        {isOver(card.state) && isNewest ? <Instead asked={[card, ...(card.jobs ?? [])]} isBusy={isBusy} ask={(model) => void run('retry', { model })} /> : null}
        {isOver(card.state) ? null : <button type="button" className="quiet" disabled={isBusy} onClick={() => void run('cancel')}>{words.cancel}</button>}
      </Replies>
    </section>
  );
}
