// What a plan that waits asks its user, as buttons: to send something, to try a failed step again, to continue without it.

import { useLocation } from 'wouter';
import { answering } from '../chat/answering.ts';
import { sessionOf } from '../chat/session.ts';
import { type Card, questionOf } from '../model.ts';
import { words } from '../words.ts';
import { asked, failedSteps, Guard } from './plan.tsx';

/** The buttons in a chat's card; what they say is said in the chat. */
export function PlanReplies({ card, reply }: { card: Card; reply: (text: string) => void }) {
  const failed = failedSteps(card);
  return (
    <>
      {asked(card.plan).map((step) => <Guard key={step.number} step={step} answer={reply} />)}
      {failed.length > 0 ? (
        <div className="card-row">
          {failed.map((number) => <button key={number} type="button" className="primary" onClick={() => reply(`retry ${number + 1}`)}>{words.retryStep(number + 1)}</button>)}
          <button type="button" onClick={() => reply('go on without it')}>{words.goOnWithout}</button>
        </div>
      ) : null}
    </>
  );
}

/** The same beside an opened task: it answers in the task's chat, and shows that. */
export function Replies({ card, chat }: { card: Card; chat: string }) {
  const [, navigate] = useLocation();
  const reply = (text: string) => {
    const session = sessionOf(chat);
    void session.open().then(() => session.say(text, { taskId: card.taskId }));
    navigate(`/chats/${encodeURIComponent(chat)}`);
  };
  return <PlanReplies card={card} reply={reply} />;
}

/** Leads from an opened task to its chat, where the next message answers its question. */
export function AnswerThere({ card, chat }: { card: Card; chat: string }) {
  const [, navigate] = useLocation();
  if (!questionOf(card)) return null;
  const answer = () => {
    answering.beginThere(card);
    navigate(`/chats/${encodeURIComponent(chat)}`);
  };
  return <button type="button" className="in-card" onClick={answer} aria-label={`${words.reply}: ${card.agentName || card.agentType || words.task}`}>{words.reply}</button>;
}
