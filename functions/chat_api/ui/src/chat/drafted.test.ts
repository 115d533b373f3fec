import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drafted } from './drafted.ts';

type Chunk = Record<string, unknown> & { type: string };

async function through(chunks: Chunk[]): Promise<Chunk[]> {
  const stream = new ReadableStream({
    start(out) {
      for (const chunk of chunks) out.enqueue(chunk);
      out.close();
    },
  });
  const told: Chunk[] = [];
  for await (const chunk of stream.pipeThrough(drafted() as unknown as TransformStream<Chunk, Chunk>)) told.push(chunk);
  return told;
}

test('drafts are one part that grows, and give way to the answer', async () => {
  const told = await through([
    { type: 'start', messageId: 'a' },
    { type: 'text-start', id: 'draft-1-a' },
    { type: 'text-delta', id: 'draft-1-a', delta: 'It ' },
    { type: 'text-delta', id: 'draft-1-a', delta: 'rains' },
    { type: 'text-end', id: 'draft-1-a' },
    { type: 'text-start', id: 'draft-2-a' },
    { type: 'text-delta', id: 'draft-2-a', delta: 'Sun' },
    { type: 'text-end', id: 'draft-2-a' },
    { type: 'text-start', id: 'text-a' },
    { type: 'text-delta', id: 'text-a', delta: 'Sunny' },
    { type: 'text-end', id: 'text-a' },
  ]);
  const drafts = told.filter(({ type }) => type === 'data-draft').map(({ data }) => (data as { text: string }).text);
  assert.deepEqual(drafts, ['It ', 'It rains', 'Sun', '']);
  assert.deepEqual(told.filter(({ type }) => type.startsWith('text')).map(({ type }) => type), ['text-start', 'text-delta', 'text-end']);
});

test('what is no draft passes as it is', async () => {
  const chunks = [{ type: 'start', messageId: 'a' }, { type: 'text-start', id: 'part-1-a' }, { type: 'data-task', id: 't', data: {} }, { type: 'finish' }];
  assert.deepEqual(await through(chunks), chunks);
});
