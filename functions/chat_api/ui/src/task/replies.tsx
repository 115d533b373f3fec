// What a card asks its user, and how that is answered: by its buttons, by its form, or by the next message.

import { useLocation } from 'wouter';
import { answering } from '../chat/answering.ts';
import { sessionOf } from '../chat/session.ts';
import { Linked, Markdown } from '../markdown/markdown.tsx';
import type { Card } from '../model.ts';
import { say, words } from '../words.ts';
import { Form } from './form.tsx';
import { askedBy } from './form.ts';
import { asked, failedSteps, Guard } from './plan.tsx';

export type Reply = (text: string, data?: Record<string, unknown>) => void;

/** What is asked, and all that answers it; `write` goes to where it is answered in words. What else can be done stands beside it. */
export function Replies({ card, reply, write, children }: { card: Card; reply: Reply; write: () => void; children?: React.ReactNode }) {
  const failed = failedSteps(card);
  const { question, choices, fields } = askedBy(card);
  return (
    <>
      {question ? <Linked links={card.links}><Markdown text={question} /></Linked> : null}
      {asked(card.plan).map((step) => <Guard key={step.number} step={step} answer={reply} />)}
      {fields.length > 0 ? <Form fields={fields} question={question ?? ''} answer={reply} /> : null}
      <div className="card-row">
        {failed.map((number) => <button key={number} type="button" className="primary" onClick={() => reply(`retry ${number + 1}`)}>{say('retryStep', { number: number + 1 })}</button>)}
        {failed.length > 0 ? <button type="button" onClick={() => reply('go on without it')}>{words.goOnWithout}</button> : null}
        {choices.map(({ label, say, data }) => <button key={label} type="button" className="choice" onClick={() => reply(say, data)}>{label}</button>)}
        {question === null ? null : <button type="button" className="quiet" onClick={write} aria-label={`${words.reply}: ${card.agentName || card.agentType || words.task}`}>{words.reply}</button>}
        {children}
      </div>
    </>
  );
}

/** The same beside an opened task: it answers in the task's chat, and shows that. */
export function RepliesThere({ card, chat }: { card: Card; chat: string }) {
  const [, navigate] = useLocation();
  const there = () => navigate(`/chats/${encodeURIComponent(chat)}`);
  const reply: Reply = (text, form) => {
    const session = sessionOf(chat);
    void session.open().then(() => session.say(text, { taskId: card.taskId, form }));
    there();
  };
  return <Replies card={card} reply={reply} write={() => { answering.beginThere(card); there(); }} />;
}
