// Asks an agent of ours through the AI SDK's A2A provider, which speaks A2A 0.3: by `generateText`, which waits for the end, and by
// `streamText`; then by both with a webhook, where `generateText` waits for the acknowledgement alone.
//
//   node run.mjs CARD_URL TOKEN PROMPT
//
// Prints {"generated": TEXT, "streamed": TEXT, "finish": REASON, "acknowledged": {"kind", "id", "state"}, "followed": TEXT, "notified":
// [{"by", "id", "state", "text"}]}, or ends with a reason and exit code 1; wrong use with 2.

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const [card, token, prompt] = process.argv.slice(2);
if (!prompt) {
  console.error('usage: node run.mjs CARD_URL TOKEN PROMPT');
  process.exit(2);
}

// The provider takes neither headers nor a configuration: the token goes with whatever is asked of the agent, and where there is a
// webhook, each message names it, under a token of its own.
let webhook = null;
const plain = globalThis.fetch;
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers);
  if (new URL(url).origin !== new URL(card).origin) return plain(url, options);
  headers.set('authorization', `Bearer ${token}`);
  return plain(url, { ...options, headers, body: webhook && options.body ? named(options.body, webhook) : options.body });
};

/** The call with the address to tell what becomes of its task, and without a wait. */
function named(body, { url, tokens }) {
  const call = JSON.parse(body);
  if (!['message/send', 'message/stream'].includes(call.method)) return body;
  const own = randomBytes(16).toString('hex');
  tokens.set(own, call.method);
  const { blocking: _, ...configuration } = call.params.configuration ?? {};
  const waits = call.method === 'message/send' ? { blocking: false } : {};
  call.params.configuration = { ...configuration, ...waits, pushNotificationConfig: { url, token: own } };
  return JSON.stringify(call);
}

// Both tell the console what they do.
console.log = () => {};
globalThis.AI_SDK_LOG_WARNINGS = false;

const { a2a } = await import('a2a-ai-provider');
const { generateText, streamText } = await import('ai');

const model = a2a(card);
const generate = () => generateText({ model, prompt, maxRetries: 0 });

async function stream() {
  let failed;
  const streamed = streamText({ model, prompt, maxRetries: 0, onError: ({ error }) => { failed = error; } });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  if (failed) throw failed;
  return { text, finish: await streamed.finishReason };
}

const generated = await generate();
const streamed = await stream();

const told = [];
const hook = createServer((incoming, answer) => {
  let body = '';
  incoming.on('data', (chunk) => { body += chunk; });
  incoming.on('end', () => {
    told.push({ headers: incoming.headers, task: JSON.parse(body) });
    answer.writeHead(204).end();
  });
});
await new Promise((resolve) => hook.listen(0, '127.0.0.1', resolve));
webhook = { url: `http://127.0.0.1:${hook.address().port}/api/webhook/tasks`, tokens: new Map() };

const OVER = ['completed', 'failed', 'canceled', 'rejected'];
/** The end of each call's task, as it was told under the call's own token. */
const ends = () => new Map(told
  .map(({ headers, task }) => [headers.authorization?.replace(/^Bearer /, ''), task])
  .filter(([own, task]) => webhook.tokens.has(own) && OVER.includes(task.status?.state)));

/** Waits until the end of so many calls' tasks was told. */
async function notified(calls) {
  for (let waited = 0; ends().size < calls; waited += 50) {
    if (waited > 30_000) throw new Error(`the webhook was not told the end: ${JSON.stringify(told)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return [...ends()].map(([own, { id, status, artifacts }]) => {
    const parts = [status.message, ...(artifacts ?? [])].flatMap((one) => one?.parts ?? []);
    return { by: webhook.tokens.get(own), id, state: status.state, text: parts.map(({ text }) => text ?? '').join(' ') };
  });
}

const acknowledged = await generate();
const { kind, id, status } = acknowledged.response.body;
const followed = await stream();
const all = await notified(2);
hook.close();
process.stdout.write(JSON.stringify({
  generated: generated.text,
  streamed: streamed.text,
  finish: streamed.finish,
  acknowledged: { kind, id, state: status?.state },
  followed: followed.text,
  notified: all,
}));
