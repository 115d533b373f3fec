// Asks the chat route through the AI SDK's own transport and parser, as a page built on `useChat` would.
//
//   node check-chat.mjs BASE_URL PROMPT [CHAT_ID]
//
// AI names the SDK by its package here: `ai` (as the page has it), or one of before, `ai-6` or `ai-5`.
//
// Prints the assistant's UIMessage as the stream built it. A chunk that the SDK cannot parse, any protocol error, and
// a history that tells something else than the stream did end with a reason and exit code 1; wrong use with 2.

import { randomUUID } from 'node:crypto';

const { DefaultChatTransport, readUIMessageStream, safeValidateUIMessages, validateUIMessages } = await import(process.env.AI || 'ai');

const [base, prompt, chatId = randomUUID()] = process.argv.slice(2);
if (!base || !prompt) {
  console.error('usage: node check-chat.mjs BASE_URL PROMPT [CHAT_ID]');
  process.exit(2);
}

const root = base.replace(/\/+$/, '');
let cookie;

/** fetch with the one cookie that the chat route sets. */
async function visit(url, options = {}) {
  const headers = new Headers(options.headers);
  if (cookie) headers.set('cookie', cookie);
  const response = await fetch(url, { ...options, headers });
  for (const line of response.headers.getSetCookie()) [cookie] = line.split(';');
  return response;
}

function fail(reason) {
  throw new Error(reason);
}

async function streamed(message) {
  const transport = new DefaultChatTransport({
    api: `${root}/api/chat`,
    fetch: async (url, options) => {
      const response = await visit(url, options);
      if (response.ok && response.headers.get('x-vercel-ai-ui-message-stream') !== 'v1') {
        fail('the response does not say that it is a UI message stream');
      }
      return response;
    },
  });
  const chunks = await transport.sendMessages({
    chatId, messages: [message], trigger: 'submit-message', messageId: undefined, abortSignal: undefined,
  });
  let answer;
  let problem;
  const states = readUIMessageStream({ stream: chunks, onError: (error) => { problem ??= error; } });
  for await (const state of states) answer = state;
  if (problem) throw problem;
  return answer ?? fail('the stream brought no message');
}

async function stored(answer) {
  const response = await visit(`${root}/api/chats/${encodeURIComponent(chatId)}/messages`);
  if (!response.ok) fail(`the history answered ${response.status}`);
  const messages = await response.json();
  const valid = safeValidateUIMessages
    ? await safeValidateUIMessages({ messages })
    : { success: true, data: await validateUIMessages({ messages }) };
  if (!valid.success) throw valid.error;
  return messages.find(({ id }) => id === answer.id) ?? fail('the history has no message of the same id');
}

try {
  const message = { id: randomUUID(), role: 'user', parts: [{ type: 'text', text: prompt }] };
  const answer = await streamed(message);
  const [validated] = await validateUIMessages({ messages: [answer] });
  const card = validated.parts.find((part) => part.type === 'data-task');
  if (card?.data?.artifactType !== 'task' || !card.data.taskId) fail('the answer has no task part');
  const kept = await stored(answer);
  const text = ({ parts }) => parts.filter((part) => part.type === 'text').map((part) => part.text).join('\n');
  if (text(answer) && text(answer) !== text(kept)) fail('the history tells another answer than the stream');
  console.log(JSON.stringify(answer, null, 2));
} catch (error) {
  console.error(error?.stack ?? String(error));
  process.exit(1);
}
