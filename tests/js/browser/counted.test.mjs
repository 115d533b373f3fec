// What an open page asks of the server: nothing while nothing is unfinished or nobody looks, little while tasks wait, one stream
// however many tabs there are.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { agree, ask, at, launch, System, visitor } from './harness.mjs';

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

/** As if the tab were hidden, or seen. */
const show = (page, state) => page.evaluate((state) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, state);

/** A profile that counts what its tabs ask of the API. */
async function counting(t, options) {
  const own = await visitor(browser, options);
  t.after(() => own.context.close());
  const asked = [];
  const open = new Set();
  const isStream = (request) => request.resourceType() === 'eventsource';
  own.context.on('request', (request) => {
    if (!request.url().includes('/api/')) return;
    asked.push(`${request.method()} ${new URL(request.url()).pathname}`);
    if (isStream(request)) open.add(request);
  });
  const ended = (request) => open.delete(request);
  own.context.on('requestfinished', ended);
  own.context.on('requestfailed', ended);
  const page = await own.context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${base}/`);
  return { ...own, page, asked, open };
}

// They wait most of the time: side by side, each with a profile of its own.
describe('what is asked', { concurrency: true }, () => {
  test('a page that waits for consent holds no stream and asks twice a minute at most', async (t) => {
    const { page, asked, open, check } = await counting(t);
    await ask(page, 'Where is my order 1001?');
    await at(page).badge.getByText('Needs your consent').waitFor();
    await sleep(5000);
    asked.length = 0;
    await sleep(45_000);
    assert(asked.length <= 2, asked.join('\n'));
    assert.equal(open.size, 0);
    check();
  });

  test('a page with nothing unfinished asks nothing', async (t) => {
    const { page, asked, open, check } = await counting(t);
    await ask(page, 'Will it rain in Oslo tomorrow?');
    await at(page).badge.getByText('Completed').waitFor();
    await sleep(5000);
    asked.length = 0;
    await sleep(35_000);
    assert.deepEqual(asked, []);
    assert.equal(open.size, 0);
    check();
  });

  test('six tabs share one stream, and the list of chats is there at once', async (t) => {
    const { page, context, open, check } = await counting(t);
    await ask(page, 'Write a report about whales');
    await at(page).badge.getByText('Working').waitFor();
    const tabs = [page];
    const took = [];
    for (let more = 0; more < 5; more += 1) {
      const tab = await context.newPage();
      await tab.goto(`${base}/tasks`);
      const began = Date.now();
      await tab.getByRole('link', { name: 'Write a report about whales' }).first().waitFor();
      assert(Date.now() - began < 5000, `the list took ${Date.now() - began} ms`);
      // Behind too many streams it would wait for one of the browser's connections.
      // The list may be shown before it was fetched: it is kept.
      const fetched = await tab.waitForFunction(() => performance.getEntriesByType('resource').find(({ name }) => /\/api\/chats(\?|$)/.test(name))?.duration);
      took.push(await fetched.jsonValue());
      tabs.push(tab);
    }
    const median = took.toSorted((one, two) => one - two)[2];
    t.diagnostic(`the list of chats with more and more tabs: ${took.map(Math.round).join(', ')} ms`);
    assert(median < 1000, `the list of chats took ${took} ms`);
    await sleep(3000);
    assert.equal(open.size, 1);
    // All of them see the end.
    for (const tab of tabs) await tab.getByText('Completed').first().waitFor({ timeout: 60_000 });
    check();
  });

  test('a page that nobody sees asks nothing, and catches up when it is seen again', async (t) => {
    const { page, context, asked, open, check } = await counting(t);
    await ask(page, 'Write a report about foxes');
    await at(page).badge.getByText('Working').waitFor();
    // The prompt's own stream ends with an acknowledgement.
    await page.waitForFunction(() => !document.querySelector('.progress'));
    await sleep(1000);
    await show(page, 'hidden');
    await sleep(500);
    asked.length = 0;
    await sleep(8000);
    assert.deepEqual(asked, []);
    assert.equal(open.size, 0);
    await show(page, 'visible');
    await at(page).badge.getByText('Completed').waitFor({ timeout: 60_000 });
    check();
  });
});

/** Every way to a consent in a second window: it shows at once, or as soon as somebody looks. */
describe('a consent in a second window', { concurrency: 8 }, () => {
  for (const tabs of [1, 2]) for (const way of ['button', 'copied link']) for (const visit of ['first', 'later']) for (const state of ['hidden', 'visible']) {
    test(`${tabs} tabs, ${way}, ${visit} visit, ${state}`, async (t) => {
      const { page, context, check } = await counting(t, { worker: true });
      await page.evaluate(() => navigator.serviceWorker.ready);
      // The tab that leads is the first; the chat is in the last.
      const chat = tabs === 1 ? page : await context.newPage();
      if (tabs > 1) await chat.goto(`${base}/`);
      if (visit === 'later') {
        await ask(chat, 'Will it rain in Oslo tomorrow?');
        await at(chat).badge.getByText('Completed').waitFor();
        await chat.reload();
      }
      await ask(chat, 'Where is my order 1001?');
      const connect = at(chat).card.getByRole('link', { name: 'Connect' });
      await connect.waitFor();
      await chat.waitForFunction(() => !document.querySelector('.progress'));
      const opened = context.waitForEvent('page');
      if (way === 'button') await connect.click();
      else await (await context.newPage()).goto(await connect.getAttribute('href'));
      const consent = await opened;
      if (state === 'hidden') await show(chat, 'hidden');
      await agree(consent, system);
      // So long that a look without a place to go on from would not find it any more.
      if (state === 'hidden') {
        await sleep(visit === 'first' ? 12_000 : 1000);
        await show(chat, 'visible');
      }
      await at(chat).card.getByText('Connected. Horizon can continue.').waitFor({ timeout: 10_000 });
      await at(chat).badge.last().getByText('Completed').waitFor({ timeout: 10_000 });
      check();
    });
  }
});
