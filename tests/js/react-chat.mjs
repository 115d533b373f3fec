// Drives the chat route by `Chat` of `@ai-sdk/react`, as the page and other people's pages do, in plain Node: an answer, the history
// in its place, the same message once more, the same id with another text, and a stream that is taken up again.
//
//   node react-chat.mjs BASE_URL
//
// Prints `ok`, or ends with a reason and exit code 1; wrong use with 2.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [base] = process.argv.slice(2);
if (!base) {
  console.error('usage: node react-chat.mjs BASE_URL');
  process.exit(2);
}
const root = base.replace(/\/+$/, '');

// The page's own copies.
const of = createRequire(join(import.meta.dirname, '../../functions/chat_api/ui/package.json'));
const { Chat } = await import(pathToFileURL(of.resolve('@ai-sdk/react')).href);
const { DefaultChatTransport } = await import(pathToFileURL(of.resolve('ai')).href);

let cookie;
let cut = 0;

/** fetch with the one cookie that the chat route sets; the next `cut` streams end after their first piece. */
async function visit(url, options = {}) {
  const headers = new Headers(options.headers);
  if (cookie) headers.set('cookie', cookie);
  const response = await fetch(url, { ...options, headers });
  for (const line of response.headers.getSetCookie()) [cookie] = line.split(';');
  if (cut === 0 || !response.body) return response;
  cut -= 1;
  const reader = response.body.getReader();
  let pieces = 0;
  const body = new ReadableStream({
    async pull(out) {
      const { done, value } = await reader.read();
      if (done) return out.close();
      pieces += 1;
      if (pieces > 1) return out.error(new TypeError('network error'));
      return out.enqueue(value);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

const chatOf = (id, messages = []) => {
  const seen = { disconnects: 0, errors: [] };
  const chat = new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({ api: `${root}/api/chat`, fetch: visit }),
    onError: (error) => seen.errors.push(error),
    onFinish: ({ isDisconnect }) => {
      if (isDisconnect) seen.disconnects += 1;
    },
  });
  return { chat, seen };
};

const history = async (id) => (await (await visit(`${root}/api/chats/${id}/messages`)).json());
const texts = ({ parts }) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('\n');
const tasks = (messages) => new Set(messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'data-task').map(({ data }) => data.taskId)));

try {
  const id = randomUUID();
  const message = { id: randomUUID(), role: 'user', parts: [{ type: 'text', text: 'Will it rain in Oslo tomorrow?' }] };
  const first = chatOf(id);
  await first.chat.sendMessage(message);
  assert.equal(first.chat.status, 'ready', String(first.chat.error));
  assert.match(texts(first.chat.messages.at(-1)), /Oslo/);
  assert.equal(texts(first.chat.messages.at(-1)).match(/Oslo/g).length, texts((await history(id)).at(-1)).match(/Oslo/g).length, 'the text arrives once');
  assert.equal(tasks(first.chat.messages).size, 1);

  // The same message again is the same task, another text under its id is refused.
  const again = chatOf(id);
  await again.chat.sendMessage(message);
  assert.deepEqual(tasks(again.chat.messages), tasks(first.chat.messages));
  const other = chatOf(id);
  await other.chat.sendMessage({ ...message, parts: [{ type: 'text', text: 'Cancel everything' }] });
  assert.equal(other.chat.status, 'error');
  assert.match(String(other.seen.errors[0]), /message/i);
  assert.equal((await history(id)).filter(({ role }) => role === 'user').length, 1);

  // A stream that is cut is a disconnect, and is taken up again under the ids of the server.
  const long = randomUUID();
  const broken = chatOf(long);
  cut = 1;
  await broken.chat.sendMessage({ role: 'user', parts: [{ type: 'text', text: 'Write a report about otters' }] });
  assert.equal(broken.chat.status, 'error');
  assert.equal(broken.seen.disconnects, 1);
  await broken.chat.resumeStream();
  const kept = await history(long);
  assert.deepEqual(broken.chat.messages.map(({ id }) => id), kept.map(({ id }) => id));
  assert.equal(tasks(broken.chat.messages).size, 1);
  console.log('ok');
} catch (error) {
  console.error(error?.stack ?? String(error));
  process.exit(1);
}
