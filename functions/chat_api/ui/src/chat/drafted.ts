// Our messages, and drafts of an answer as one part that is replaced.

import type { UIMessage, UIMessageChunk } from 'ai';
import type { Card } from '../model.ts';

export type Data = {
  task: Card;
  progress: { taskId: string; state: string; text: string };
  draft: { text: string; links?: string[] };
  form: Record<string, unknown>;
};
/** Of an answer the task that gives it and what the user thinks of it, of a message of the user the agent that it is for. */
export type About = { taskId?: string; model?: string; feedback?: 'good' | 'bad' };
export type Message = UIMessage<About, Data>;
type Chunk = UIMessageChunk<About, Data>;

/** The answer that waits for its last word is one part of this id. */
const DRAFT = 'draft';

/** Words on the way give way to those of a later attempt, and to the answer: text parts cannot, data parts can. */
export function drafted(): TransformStream<Chunk, Chunk> {
  const texts = new Map<string, string>();
  const shown = (text: string): Chunk => ({ type: 'data-draft', id: DRAFT, data: { text } });
  return new TransformStream({
    transform(chunk, out) {
      if (!('id' in chunk) || typeof chunk.id !== 'string') return out.enqueue(chunk);
      if (!chunk.id.startsWith('draft-')) {
        if (chunk.type === 'text-start' && chunk.id.startsWith('text-') && texts.size > 0) out.enqueue(shown(''));
        return out.enqueue(chunk);
      }
      if (chunk.type === 'text-start') texts.set(chunk.id, '');
      // It has become the answer.
      if (chunk.type === 'text-end' && chunk.providerMetadata) {
        out.enqueue({ type: 'data-draft', id: DRAFT, data: { text: texts.get(chunk.id) ?? '', links: chunk.providerMetadata.switchyard?.links as string[] } });
      }
      if (chunk.type === 'text-delta') {
        const text = (texts.get(chunk.id) ?? '') + chunk.delta;
        texts.set(chunk.id, text);
        out.enqueue(shown(text));
      }
    },
  });
}
