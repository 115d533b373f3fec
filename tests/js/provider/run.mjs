// Asks an agent of ours through the AI SDK's A2A provider, which speaks A2A 0.3: by `generateText`, which waits for the end, and by
// `streamText`.
//
//   node run.mjs CARD_URL TOKEN PROMPT
//
// Prints {"generated": TEXT, "streamed": TEXT, "finish": REASON}, or ends with a reason and exit code 1; wrong use with 2.

const [card, token, prompt] = process.argv.slice(2);
if (!prompt) {
  console.error('usage: node run.mjs CARD_URL TOKEN PROMPT');
  process.exit(2);
}

// The provider takes no headers: the token goes with whatever is asked of the agent.
const plain = globalThis.fetch;
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers);
  if (new URL(url).origin === new URL(card).origin) headers.set('authorization', `Bearer ${token}`);
  return plain(url, { ...options, headers });
};
// Both tell the console what they do.
console.log = () => {};
globalThis.AI_SDK_LOG_WARNINGS = false;

const { a2a } = await import('a2a-ai-provider');
const { generateText, streamText } = await import('ai');

const model = a2a(card);
const generated = await generateText({ model, prompt, maxRetries: 0 });
let failed;
const streamed = streamText({ model, prompt, maxRetries: 0, onError: ({ error }) => { failed = error; } });
let text = '';
for await (const piece of streamed.textStream) text += piece;
if (failed) throw failed;
process.stdout.write(JSON.stringify({ generated: generated.text, streamed: text, finish: await streamed.finishReason }));
