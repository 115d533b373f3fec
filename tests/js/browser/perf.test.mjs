// What the page costs who opens it: bytes and requests of the first load, nothing that jumps, and no long task while somebody types
// or scrolls in a long chat. Times on a slow line and a slow machine are printed by `tests/run browser-perf`.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, ask, launch, System, visitor } from './harness.mjs';

const SCRIPT_MAX = 200_000;
const STYLE_MAX = 20_000;
const REQUESTS_MAX = 12;
const SHIFT_MAX = 0.05;
const LONGEST = 200;
const MESSAGES = 200;
/** What the machine does beside it may make one try slow. */
const TRIES = 4;

let system, browser, base;
before(async () => {
  system = await System.start();
  base = system.base('acme');
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

/** Counts what comes over the line, and what jumps. */
async function watched(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const line = await context.newCDPSession(page);
  await line.send('Network.enable');
  await line.send('Network.setCacheDisabled', { cacheDisabled: true });
  const types = new Map();
  const came = { requests: 0, Script: 0, Stylesheet: 0 };
  line.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  line.on('Network.requestWillBeSent', ({ request }) => {
    if (request.url.startsWith('http')) came.requests += 1;
  });
  line.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const type = types.get(requestId);
    if (type in came) came[type] += encodedDataLength;
  });
  await page.addInitScript(() => {
    window.shifted = 0;
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
      for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
    }).observe({ type: 'longtask' });
  });
  return { page, came };
}

test('a chat with one finished task loads few bytes by few requests, and nothing jumps', async (t) => {
  const { context, check } = await visitor(browser);
  t.after(() => context.close());
  const first = await context.newPage();
  await first.goto(`${base}/`);
  await ask(first, 'What will the weather be like in Oslo over the next three days?');
  await at(first).badge.getByText('Completed').waitFor({ timeout: 60_000 });
  await first.locator('.forecast').waitFor();
  const url = first.url();
  await first.close();
  const { page, came } = await watched(context);
  await page.goto(url);
  await page.locator('.message-tools').first().waitFor();
  await page.locator('.forecast').waitFor();
  await page.waitForTimeout(1000);
  const shifted = await page.evaluate(() => window.shifted);
  t.diagnostic(`${came.Script} bytes of script, ${came.Stylesheet} of style, ${came.requests} requests, shift ${shifted.toFixed(3)}`);
  // A build that no program holds yet comes as it is, not packed.
  if (process.env.PAGE !== 'dist') {
    assert(came.Script > 0 && came.Script <= SCRIPT_MAX, `${came.Script} bytes of script`);
    assert(came.Stylesheet > 0 && came.Stylesheet <= STYLE_MAX, `${came.Stylesheet} bytes of style`);
  }
  assert(came.requests <= REQUESTS_MAX, `${came.requests} requests`);
  assert(shifted <= SHIFT_MAX, `it jumps by ${shifted}`);
  check();
});

/** A chat that is long: what its messages hold is made up, all else is as it is. */
function long() {
  const markdown = '## A heading\n\nSome *words* of an answer, a [link](https://example.org/) and a list:\n\n- one\n- two\n- three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
  return Array.from({ length: MESSAGES / 2 }, (_, number) => [
    { id: `u${number}`, role: 'user', parts: [{ type: 'text', text: `Question ${number}` }] },
    { id: `a${number}`, role: 'assistant', parts: [{ type: 'text', text: `${number}: ${markdown.repeat(1 + (number % 4))}`, state: 'done' }] },
  ]).flat();
}

test(`nobody waits while typing or scrolling in a chat of ${MESSAGES} messages`, async (t) => {
  const { context, check } = await visitor(browser);
  t.after(() => context.close());
  await context.route(/\/api\/chats\/long\/messages/, (route) => route.fulfill({ contentType: 'application/json', body: JSON.stringify({ messages: long(), next: null }) }));
  const { page } = await watched(context);
  await page.goto(`${base}/chats/long`);
  await page.getByText('Question 99', { exact: true }).waitFor();
  assert.equal(await at(page).mine.count(), MESSAGES / 2);
  await page.waitForTimeout(1000);
  const slowest = async (act) => {
    let best = Infinity;
    for (let tries = 0; tries < TRIES && best > LONGEST; tries += 1) {
      await page.evaluate(() => (window.longest = 0));
      await act();
      await page.waitForTimeout(200);
      best = Math.min(best, await page.evaluate(() => window.longest));
    }
    return best;
  };
  const typing = await slowest(() => at(page).prompt.pressSequentially('What will the weather be like?', { delay: 20 }));
  await at(page).log.hover();
  const scrolling = await slowest(async () => {
    for (let step = 0; step < 25; step += 1) await page.mouse.wheel(0, -900);
    for (let step = 0; step < 25; step += 1) await page.mouse.wheel(0, 900);
  });
  t.diagnostic(`the longest task while typing took ${typing} ms, while scrolling ${scrolling} ms`);
  assert(typing <= LONGEST, `typing waits ${typing} ms`);
  assert(scrolling <= LONGEST, `scrolling waits ${scrolling} ms`);
  check();
});
