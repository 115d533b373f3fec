// Words of an answer as a host's model writes them, long after the prompt: the tab that shows the chat has them, others wait.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, at, launch, System, visitor } from './harness.mjs';

const FIRST = 'Whales are large.';
const SECOND = ' That is what the report says.';

let model, system, browser, base;
/** What lets the model say the rest. */
let goOn;

/** A server of Chat Completions: it hands the prompt to the report agent, and then speaks slowly of what came back. */
async function scripted() {
  const chunk = (delta, reason = null) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const end = (reason) => `${chunk({}, reason)}data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })}\n\ndata: [DONE]\n\n`;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const bytes of request) body += bytes;
    // It is looked at whether the model is there.
    if (body === '') return response.end();
    const decides = JSON.parse(body).response_format !== undefined;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (decides) {
      const content = JSON.stringify({ do: [{ agent: 'report', request: 'Write a report about whales' }], say: '' });
      response.end(chunk({ role: 'assistant', content }) + end('stop'));
      return;
    }
    const rest = new Promise((resolve) => { goOn = resolve; });
    response.write(chunk({ role: 'assistant', content: FIRST }));
    await Promise.race([rest, sleep(20_000)]);
    response.end(chunk({ content: SECOND }) + end('stop'));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

before(async () => {
  model = await scripted();
  system = await System.start('--model', `openai:http://127.0.0.1:${model.address().port}/v1,scripted`);
  base = system.base('acme');
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await system?.stop();
  model?.closeAllConnections();
  model?.close();
});

test('the tab that shows the chat follows the words, another waits for the answer', async (t) => {
  const { context, check } = await visitor(browser);
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  await page.goto(`${base}/`);
  await ask(page, 'Write a report about whales');
  await at(page).badge.getByText('Working').waitFor();
  // The prompt's own answer has ended with an acknowledgement.
  await page.waitForFunction(() => !document.querySelector('.progress'));
  const other = await context.newPage();
  await other.goto(`${base}/tasks`);
  const asked = [];
  context.on('request', (request) => {
    if (/\/api\/chat\/[\w-]+\/stream$/.test(request.url())) asked.push(request.frame().page() === page ? 'chat' : 'tasks');
  });
  await at(page).answer.getByText(FIRST).waitFor();
  assert.equal(await at(page).badge.getByText('Completed').count(), 0, 'it is not over');
  goOn();
  await at(page).badge.getByText('Completed').waitFor();
  await at(page).answer.getByText(SECOND.trim()).waitFor();
  await other.getByText('Completed').first().waitFor();
  assert.deepEqual(asked, ['chat']);
  await page.waitForFunction(() => !document.querySelector('.progress'));
  const said = await at(page).log.innerText();
  assert.equal(said.split(FIRST).length - 1, 1, said);
  check();
});
