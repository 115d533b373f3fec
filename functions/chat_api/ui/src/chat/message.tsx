// One message: the user's words, or an answer with its cards.

import { memo, useMemo } from 'react';
import { z } from 'zod';
import { Markdown } from '../markdown/markdown.tsx';
import { Card, isOver } from '../model.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Again, Pen } from '../parts/icons.tsx';
import { readTask, useModels } from '../queries.ts';
import { Boundary } from '../parts/states.tsx';
import { Tree } from '../result/tree.tsx';
import { TaskCard } from '../task/card.tsx';
import { wholeOf } from '../task/shares.ts';
import { words } from '../words.ts';
import type { Message } from './drafted.ts';
import { Files } from './files.tsx';
import { Thumbs } from './thumbs.tsx';

const Draft = z.object({ text: z.string() });

interface Shown {
  message: Message;
  chat: string;
  /** Only the newest answer that is done can be asked for again. */
  again: (() => void) | null;
  /** Only the user's last message can be written anew. */
  edit: (() => void) | null;
  reply: (text: string, taskId: string, form?: Record<string, unknown>) => void;
  /** A later message has the card of the same task. */
  goesOn: boolean;
}

type OnePart = Message['parts'][number];

interface Within extends Pick<Shown, 'chat' | 'reply' | 'goesOn'> {
  part: OnePart;
  /** What the message says in its card. */
  says: string | null;
  isNewest: boolean;
}

function PartView({ part, chat, says, isNewest, reply, goesOn }: Within) {
  if (part.type === 'text') return says === null && part.text ? <Markdown text={part.text} /> : null;
  if (part.type === 'data-task') {
    const own = Card.safeParse(part.data);
    if (!own.success) return <div className="broken"><p>{words.broken}</p><Tree value={part.data} /></div>;
    return <TaskCard card={own.data} href={`/chats/${encodeURIComponent(chat)}/tasks/${own.data.taskId}`} says={says ?? ''} goesOn={goesOn} isNewest={isNewest} reply={reply} />;
  }
  if (part.type === 'data-draft') {
    const draft = Draft.safeParse(part.data);
    return draft.success && draft.data.text ? <Markdown text={draft.data.text} /> : null;
  }
  return null;
}

/** The card of a message, where it has one that can be read. */
function cardIn({ parts }: Message): Card | null {
  const found = parts.findLast((part) => part.type === 'data-task');
  return (found && Card.safeParse(found.data).data) ?? null;
}

const textOf = (message: Message): string =>
  message.parts.map((part) => (part.type === 'text' ? part.text : '')).filter(Boolean).join('\n\n');

/** Whom a message of the user is for. */
function ForAgent({ id }: { id: string }) {
  const { data } = useModels();
  return <p className="said-to">{words.forAgent} {data?.models.find((model) => model.id === id)?.name ?? id}</p>;
}

export const MessageView = memo(function MessageView({ message, chat, again, edit, reply, goesOn }: Shown) {
  const isMine = message.role === 'user';
  const text = textOf(message);
  const card = useMemo(() => cardIn(message), [message]);
  const isDone = message.parts.every((part) => part.type !== 'data-task' || isOver(part.data.state));
  return (
    <article className={`message ${message.role}`} aria-label={isMine ? words.you : words.answer}>
      {isMine && typeof message.metadata?.model === 'string' ? <ForAgent id={message.metadata.model} /> : null}
      {isMine ? (
        <div className="mine">
          {edit ? <button type="button" className="icon-button edit" onClick={edit} aria-label={words.edit} title={words.edit}><Pen /></button> : null}
          <p className="said">{text || words.message}</p>
        </div>
      ) : message.parts.map((part, place) => (
        <Boundary key={place} value={part}><PartView part={part} chat={chat} says={card && !goesOn ? text : null} isNewest={again !== null} reply={reply} goesOn={goesOn} /></Boundary>
      ))}
      {isMine ? <Files message={message} chat={chat} /> : null}
      {!isMine && text && isDone ? (
        <div className="message-tools">
          <CopyButton text={async () => (card && text.endsWith('…') ? wholeOf(text, (await readTask(card.taskId)).artifacts) : text)} />
          {card ? <Thumbs chat={chat} task={card.taskId} before={message.metadata?.feedback ?? null} /> : null}
          {again ? <button type="button" className="icon-button" onClick={again} aria-label={words.again} title={words.again}><Again /></button> : null}
        </div>
      ) : null}
    </article>
  );
});
