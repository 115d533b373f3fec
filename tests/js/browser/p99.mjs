// How long users wait for the first and for the last: from POST /api/chat to the first event of its stream, at five a second; and from
// the webhook's news of a task to its badge in the browser, of an owner with 200 tasks. Prints p50 and p99. Against a release build
// (`SWITCHYARD=target/release/switchyard`) both are held against their bounds; a debug build only prints.
//
//   node tests/js/browser/p99.mjs [TASKS [PER_SECOND]]            `tests/run browser-perf`

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, switchyard, System } from './harness.mjs';

/** Fewer of them, or more slowly, says nothing: only whether this program works. */
const [TASKS, A_SECOND] = [process.argv[2] ?? 200, process.argv[3] ?? 5].map(Number);
const REPORTS = 20;
/** Milliseconds that 99 of 100 may take at most. */
const MOST = { 'POST to first event': 50, 'webhook to badge': 1000 };

const isRelease = /[\\/]release[\\/]/.test(switchyard);

/** Nearest rank. */
const rank = (values, part) => values.toSorted((one, two) => one - two)[Math.max(0, Math.ceil(values.length * part) - 1)];

/** The time until the first event of the answer; what follows is read to its end. */
async function first(base, cookie, text, number) {
  const message = { id: `m-${number}`, role: 'user', parts: [{ type: 'text', text }] };
  const began = performance.now();
  const answer = await fetch(`${base}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ id: `c-${number}`, message }),
  });
  assert.equal(answer.status, 200, await (answer.ok ? '' : answer.text()));
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text_ = '';
  let took = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text_ += decoder.decode(value, { stream: true });
    if (took === null && text_.includes('\n\n')) took = performance.now() - began;
  }
  return { took, taskId: text_.match(/"taskId":"([\w-]{36})"/)?.[1] };
}

const figures = new Map();
const system = await System.start();
const browser = await launch();
try {
  const base = system.base('acme');
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${base}/`);
  await page.evaluate(async () => (await fetch('api/session')).status);
  // A guest is known by the first message.
  await page.evaluate(() => fetch('api/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'c', message: { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Will it rain in Oslo tomorrow?' }] } }) }).then((answer) => answer.text()));
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');

  // By the clock, whether those before have been answered or not.
  const asked = [];
  const began = performance.now();
  for (let number = 0; number < TASKS; number += 1) {
    await sleep(Math.max(0, began + (number * 1000) / A_SECOND - performance.now()));
    asked.push(first(base, cookie, 'Will it rain in Oslo tomorrow?', number));
  }
  figures.set('POST to first event', (await Promise.all(asked)).map(({ took }) => took));

  await page.goto(`${base}/tasks`);
  await page.locator('.rows li').first().waitFor();
  const reports = await Promise.all(Array.from({ length: REPORTS }, (_, number) => first(base, cookie, 'Write a report about whales', `r${number}`)));
  const ids = reports.map(({ taskId }) => taskId);
  await page.reload();
  await page.locator(`.rows a[href*="${ids[0]}"]`).waitFor();
  // When each badge first says that its task is over.
  await page.evaluate((ids) => {
    window.over = {};
    const look = () => {
      for (const id of ids) {
        const badge = document.querySelector(`.rows a[href*="${id}"] .badge`);
        if (badge?.dataset.state === 'completed') window.over[id] ??= Date.now();
      }
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
  }, ids);
  await page.waitForFunction((many) => Object.keys(window.over).length === many, REPORTS, { timeout: 120_000, polling: 250 });
  const over = await page.evaluate(() => window.over);
  const waits = [];
  for (const id of ids) {
    const { jobs } = await (await fetch(`${base}/api/tasks/${id}`, { headers: { cookie } })).json();
    // The receiver's clock is this machine's.
    const told = jobs[0].history.find(({ state }) => state === 'completed');
    waits.push(over[id] - Date.parse(told.at));
  }
  figures.set('webhook to badge', waits);
} finally {
  await browser.close();
  await system.stop();
}
const late = [];
for (const [name, values] of figures) {
  const [p50, p99] = [rank(values, 0.5), rank(values, 0.99)].map(Math.round);
  console.log(`${name}: p50 ${p50} ms, p99 ${p99} ms of ${values.length}${isRelease ? ` (at most ${MOST[name]} ms)` : ' (debug build: no bound)'}`);
  if (isRelease && p99 >= MOST[name]) late.push(name);
}
assert.deepEqual(late, [], 'later than it may be');
