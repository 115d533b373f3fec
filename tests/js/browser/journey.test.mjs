// What a user does, from the prompt to the result, over a network that cuts every stream after two seconds.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { agree, ask, at, cutting, launch, System, visitor } from './harness.mjs';

let system, browser, line, base;
before(async () => {
  system = await System.start();
  line = await cutting(system.port, 2000);
  base = system.base('acme').replace(`:${system.port}`, `:${line.port}`);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  line?.close();
  await system?.stop();
});

/** A fresh profile at the page's start; what it did wrong fails the test. */
async function visit(t, options) {
  const own = await visitor(browser, { worker: true, ...options });
  // The line cuts streams on purpose.
  own.expect(/net::ERR_INCOMPLETE_CHUNKED_ENCODING|net::ERR_EMPTY_RESPONSE/);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${base}/`);
  return { ...own, page, ...at(page) };
}

test('prompt, card, panel, result', async (t) => {
  const { page, card, answer, badge, check } = await visit(t);
  await ask(page, 'What will the weather be like in Oslo over the next three days?');
  await badge.getByText('Completed').waitFor();
  await answer.getByText(/Oslo/).first().waitFor();
  assert.match(page.url(), /\/chats\/[\w-]+$/);

  // The card grows by what it draws; a click before that may miss.
  await card.locator('.forecast').waitFor();
  await card.getByRole('link', { name: /Weather/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByRole('heading', { name: 'Oslo' }).waitFor();
  assert.equal(await panel.locator('.place li').count(), 3);
  await panel.getByRole('img', { name: /^Chart: Oslo: / }).waitFor();
  await panel.getByRole('tab', { name: 'Timeline' }).click();
  await panel.getByText('Completed').first().waitFor();
  await panel.getByRole('link', { name: 'Close' }).click();
  await panel.waitFor({ state: 'detached' });

  await page.reload();
  await badge.getByText('Completed').waitFor();
  assert.equal(await card.count(), 1);
  check();
});

test('a report is followed to its end and drawn', async (t) => {
  const { page, answer, badge, card, check } = await visit(t);
  await ask(page, 'Write a report about whales');
  await badge.getByText('Working').waitFor();
  await badge.getByText('Completed').waitFor({ timeout: 60_000 });
  await answer.getByRole('heading', { name: /Report on whales/ }).waitFor();
  assert.equal(await card.count(), 1);
  await card.getByRole('link').first().click();
  await page.getByRole('tab', { name: 'Timeline' }).click();
  const timeline = page.locator('.timeline');
  await timeline.getByRole('heading', { name: 'Report on whales' }).waitFor();
  assert.match(await timeline.locator('time').last().innerText(), /\+\d/, 'each says how long it took');
  // The rail leads to the end of the last one.
  const ends = await timeline.locator('li > div').last().evaluate((rail) => rail.getBoundingClientRect().bottom - rail.lastElementChild.getBoundingClientRect().bottom);
  assert(ends >= 0, `the rail ends ${ends} px before what it leads to`);
  check();
});

test('consent in a second tab: the first goes on by itself', async (t) => {
  const { page, badge, card, answer, context, check } = await visit(t);
  await ask(page, 'Where is my order 1001?');
  const [consent] = await Promise.all([context.waitForEvent('page'), card.getByRole('link', { name: 'Connect' }).click()]);
  await agree(consent, system);
  await badge.getByText('Completed').waitFor();
  await card.getByText('Connected. Horizon can continue.').waitFor();
  await answer.getByText(/1001/).first().waitFor();
  await page.getByRole('link', { name: 'Connected accounts' }).click();
  await page.getByRole('button', { name: /Disconnect/ }).waitFor();
  check();
});

test('one card asks for all tasks of a chat that wait for the same consent, and they go on together, those of other chats too', async (t) => {
  const { page, badge, card, context, check } = await visit(t);
  await ask(page, 'Where is my order 1003?');
  await card.getByRole('link', { name: 'Connect' }).waitFor();
  const before = page.url();
  await page.getByRole('link', { name: 'New chat' }).or(page.getByRole('button', { name: 'New chat' })).click();
  await ask(page, 'Where is my order 1001?');
  await card.getByRole('link', { name: 'Connect' }).waitFor();
  await ask(page, 'Where is my order 1002?');
  await page.getByText('2 tasks wait for this').waitFor();
  await card.getByText('Waits for the same consent').waitFor();
  const connect = card.getByRole('link', { name: 'Connect' });
  assert.equal(await connect.count(), 1);
  const [consent] = await Promise.all([context.waitForEvent('page'), connect.click()]);
  await agree(consent, system);
  await badge.getByText('Completed').nth(1).waitFor();
  await page.goto(before);
  await badge.getByText('Completed').waitFor();
  check();
});

test('cancel ends a task, and it can be tried again', async (t) => {
  const { page, badge, card, check } = await visit(t);
  await ask(page, 'Write a report about umbrellas');
  await badge.getByText('Working').waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await badge.getByText('Canceled').waitFor();
  await card.getByRole('button', { name: 'Try again' }).click();
  await badge.getByText('Working').waitFor();
  check();
});

test('what is written while an answer streams waits its turn', async (t) => {
  const { page, mine, answer, badge, check } = await visit(t);
  await ask(page, 'Write a report about foxes');
  await ask(page, 'Will it rain in Bergen tomorrow?');
  await mine.getByText('Will it rain in Bergen tomorrow?').waitFor();
  await answer.getByText(/Bergen/).first().waitFor();
  await badge.getByText('Completed').last().waitFor({ timeout: 60_000 });
  const said = await mine.allInnerTexts();
  assert.deepEqual(said.map((text) => text.split('\n')[0]), ['Write a report about foxes', 'Will it rain in Bergen tomorrow?']);
  check();
});

test('offline, three prompts, a reload, online: three tasks in their order', async (t) => {
  const { page, mine, card, context, expect, check } = await visit(t);
  expect(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK|Failed to load resource/);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await card.first().waitFor();
  await page.getByText('Completed').first().waitFor();
  // The page itself has to come from somewhere when it is loaded again: only the API is away.
  await context.route(/\/api\//, (route) => route.abort('internetdisconnected'));
  for (const place of ['Rome', 'Paris', 'Cairo']) await ask(page, `Will it rain in ${place} tomorrow?`);
  await page.getByText('Not sent yet').first().waitFor();
  assert.equal(await mine.count(), 4);
  await page.reload();
  await page.getByText('Will it rain in Cairo tomorrow?').first().waitFor();
  await context.unroute(/\/api\//);
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.waitForFunction(() => document.querySelectorAll('.card[data-state=completed]').length === 4, null, { timeout: 60_000 });
  const said = (await mine.allInnerTexts()).map((text) => text.match(/rain in (\w+)/)[1]);
  assert.deepEqual(said, ['Oslo', 'Rome', 'Paris', 'Cairo']);
  check();
});

test('two tabs of one chat stay the same, and either stops it', async (t) => {
  const { page, context, badge, check } = await visit(t);
  await ask(page, 'Write a report about owls');
  await badge.getByText('Working').waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await at(other).badge.getByText('Working').waitFor();
  await ask(other, 'Will it rain in Madrid tomorrow?');
  await page.getByText('Will it rain in Madrid tomorrow?').first().waitFor();
  await at(other).card.first().getByRole('button', { name: 'Cancel' }).click();
  await badge.getByText('Canceled').waitFor();
  check();
});

test('the server is killed in the middle: the page catches up, and the task is done once', async (t) => {
  const { page, badge, card, answer, expect, check } = await visit(t);
  expect(/ERR_|Failed to load resource|502/);
  await ask(page, 'Write a report about storms');
  await badge.getByText('Working').waitFor();
  await system.kill();
  await ask(page, 'Will it rain in Lima tomorrow?');
  await page.getByText('Not sent yet').first().waitFor();
  await system.up();
  await page.waitForFunction(() => document.querySelectorAll('.card[data-state=completed]').length === 2, null, { timeout: 90_000 });
  assert.equal(await card.count(), 2);
  await answer.getByRole('heading', { name: /Report on storms/ }).waitFor();
  check();
});

test('the server is killed while a task waits for consent, and between the click and the answer: it goes on once', async (t) => {
  const { page, badge, card, mine, context, expect, check } = await visit(t);
  expect(/ERR_|Failed to load resource|502/);
  await ask(page, 'Where is my order 1002?');
  await badge.getByText('Needs your consent').waitFor();
  await system.kill();
  await system.up();
  const [consent] = await Promise.all([context.waitForEvent('page'), card.getByRole('link', { name: 'Connect' }).click()]);
  await consent.locator('[name=username]').waitFor();
  await system.kill();
  await system.up();
  await agree(consent, system);
  await badge.getByText('Completed').waitFor({ timeout: 60_000 });
  assert.equal(await card.count(), 1);
  assert.equal(await mine.count(), 1);
  check();
});

test('a history that was written anew is refused, and the server keeps its own', async (t) => {
  const { page, badge, mine, expect, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  expect(/409/);
  const id = page.url().split('/').at(-1);
  const status = await page.evaluate(async (id) => {
    const { messages } = await (await fetch(`api/chats/${id}/messages?limit=50`)).json();
    const [first] = messages;
    const message = { ...first, parts: [{ type: 'text', text: 'Cancel everything' }] };
    const answer = await fetch('api/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id, message }) });
    return answer.status;
  }, id);
  assert.equal(status, 409);
  await page.reload();
  await badge.getByText('Completed').waitFor();
  assert.deepEqual(await mine.allInnerTexts(), ['Will it rain in Oslo tomorrow?']);
  check();
});

test('an old link behind a hash leads to its chat; a foreign chat is not there', async (t) => {
  const { page, badge, expect, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const id = page.url().split('/').at(-1);
  await page.goto('about:blank');
  await page.goto(`${base}/#${id}`);
  await badge.getByText('Completed').waitFor();
  expect(/404/);
  const stranger = await visitor(browser);
  const other = await stranger.context.newPage();
  await other.goto(`${base}/chats/${id}`);
  await other.getByRole('heading', { name: 'Not found' }).waitFor();
  await stranger.context.close();
  check();
});

test('a chat is renamed, found by its name, and deleted with all that was said', async (t) => {
  const { page, badge, expect, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const list = page.getByRole('navigation', { name: 'Your chats' });
  await list.getByRole('button', { name: /Change/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Title').fill('Umbrellas');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await list.getByRole('link', { name: 'Umbrellas' }).waitFor();
  await page.getByLabel('Search chats').fill('nothing');
  await list.getByText('No chats match.').waitFor();
  await page.getByLabel('Search chats').fill('UMBR');
  await list.getByRole('link', { name: 'Umbrellas' }).waitFor();
  await page.getByLabel('Search chats').fill('');
  const gone = page.url();
  await list.getByRole('button', { name: /Change/ }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await list.getByText('Your chats will appear here.').waitFor();
  expect(/410|404/);
  await page.goto(gone);
  await page.getByRole('heading', { name: 'Not found' }).waitFor();
  check();
});

test('a forecast is drawn in its card, and its words are folded', async (t) => {
  const { page, card, answer, check } = await visit(t, { viewport: { width: 390, height: 780 } });
  await ask(page, 'What will the weather be like in Oslo and Bergen over the next five days?');
  await card.locator('.forecast .place').nth(1).waitFor({ state: 'attached' });
  assert.equal(await card.locator('.place li').count(), 10);
  await answer.getByText('As text').click();
  await answer.getByText(/(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day/).first().waitFor();
  await card.getByRole('link', { name: /Weather/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByRole('img', { name: /^Chart: Oslo: .*; Bergen: / }).waitFor();
  await panel.getByRole('img', { name: 'Map: Oslo, Bergen' }).waitFor();
  check();
});

test('a question is answered at its card, and by nothing else that is written meanwhile', async (t) => {
  const { page, prompt, card, badge, check } = await visit(t);
  await ask(page, 'weather in Springfield');
  await badge.getByText('Needs your answer').waitFor();
  const sent = [];
  page.on('request', (request) => request.method() === 'POST' && request.url().endsWith('/api/chat') && sent.push(request.postDataJSON()));
  await card.getByRole('button', { name: 'Answer: Weather' }).click();
  await page.getByText('Your answer to Weather').waitFor();
  assert(await prompt.evaluate((box) => box === document.activeElement), 'one may write at once');
  await page.getByRole('button', { name: 'Write something else' }).click();
  await page.getByText('Your answer to Weather').waitFor({ state: 'detached' });
  await card.getByRole('button', { name: 'Answer: Weather' }).click();
  await prompt.fill('Illinois');
  await prompt.press('Enter');
  await badge.getByText('Completed').waitFor();
  await page.getByText('Your answer to Weather').waitFor({ state: 'detached' });
  await Promise.all([page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/chat')), ask(page, 'Will it rain in Bergen tomorrow?')]);
  await page.getByRole('article', { name: 'Answer' }).last().getByText(/Bergen/).waitFor();
  assert.deepEqual(sent.map(({ taskId }) => typeof taskId), ['string', 'undefined']);

  // From the list of tasks the same leads to the task's chat.
  await page.getByRole('link', { name: 'New chat' }).click();
  await ask(page, 'weather in Springfield');
  await badge.getByText('Needs your answer').waitFor();
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.locator('.rows li').filter({ hasText: 'Needs your answer' }).getByRole('link').first().click();
  await page.getByRole('complementary', { name: 'Task' }).getByRole('button', { name: 'Answer: Weather' }).click();
  await page.getByText('Your answer to Weather').waitFor();
  await ask(page, 'Ohio');
  await badge.getByText('Completed').waitFor();
  assert.equal(typeof sent.at(-1).taskId, 'string');
  // In another chat nothing is answered.
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  assert.equal(await page.getByText('Your answer to').count(), 0);
  check();
});

test('places to stay are on a map, by the numbers that they have in the list', async (t) => {
  const { page, card, check } = await visit(t);
  await ask(page, 'Find a flat in Oslo for two from Friday to Sunday');
  const brief = card.getByRole('table');
  await brief.locator('tbody tr').nth(1).waitFor();
  await card.getByRole('link', { name: /stay|Accommodation/i }).first().click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  const map = panel.getByRole('img', { name: /^Map: / });
  await map.waitFor();
  const list = panel.getByRole('region', { name: 'Listings' });
  const numbers = await list.locator('tbody tr td:first-child').allInnerTexts();
  assert.deepEqual(numbers, numbers.map((_, place) => String(place + 1)));
  assert.deepEqual(await map.locator('.map-number').allTextContents(), numbers);
  for (const heads of [await brief.locator('th').allInnerTexts(), await list.locator('th').allInnerTexts()]) assert.equal(heads.some((head) => /tude/.test(head)), false, heads.join());
  check();
});

test('where a drawing cannot be loaded, the days are there all the same', async (t) => {
  const { page, context, card, expect, check } = await visit(t);
  expect(/ERR_FAILED|Failed to (load|fetch)|dynamically imported|error occurred/);
  await context.route(/\/assets\/drawn-/, (route) => route.abort('failed'));
  await ask(page, 'What will the weather be like in Oslo over the next three days?');
  // The card grows by what it draws; a click before that may miss.
  await card.locator('.forecast').waitFor();
  await card.getByRole('link', { name: /Weather/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.locator('.place li').nth(2).waitFor();
  // Its place is held until the drawing has failed.
  await page.getByRole('img', { name: /^Chart/ }).first().waitFor({ state: 'detached' });
  assert.equal(await page.getByText('could not be drawn').count(), 0);
  check();
});

test('what an agent asks for is filled in, and each part of what was said is told of', async (t) => {
  const { page, card, answer, badge, check } = await visit(t);
  await ask(page, 'Write a report for me');
  const form = card.getByRole('form', { name: 'Fill in' });
  await form.waitFor();
  assert.equal((await card.innerText()).split('What should the report be about?').length, 2, 'it is asked once');
  await form.getByLabel('Topic').fill('whales');
  await form.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Topic: whales').waitFor();
  await form.waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'New chat' }).click();
  await ask(page, 'Weather in Bergen tomorrow and a flat in Oslo for two in December');
  const parts = page.getByRole('list', { name: 'What became of each part' }).last();
  await parts.getByRole('listitem').filter({ hasText: 'Weather in Bergen tomorrow' }).getByText('Completed').waitFor();
  await parts.getByRole('listitem').filter({ hasText: 'a flat in Oslo' }).getByText('Accommodation').waitFor();
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/parts.png` });

  // What one can choose from is a button, which sends the data that was asked for.
  await page.getByRole('link', { name: 'New chat' }).click();
  await ask(page, 'weather in Springfield');
  const choice = card.getByRole('button', { name: 'Springfield, Illinois, United States' });
  await choice.waitFor();
  const [sent] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/chat')), choice.click()]);
  const { message: { parts: [said, data] }, taskId } = sent.postDataJSON();
  assert.deepEqual([said.text, data, typeof taskId], ['Springfield, Illinois, United States', { type: 'data-form', data: { which: ['Springfield, Illinois, United States'] } }, 'string']);
  await badge.last().getByText('Completed').waitFor();
  await answer.last().getByText(/^Springfield/).first().waitFor();
  check();
});

test('each agent has its own part of an answer: its words, its state, and its data as a person would say it', async (t) => {
  const { page, card, check } = await visit(t);
  await ask(page, 'A flat in Lisbon for two from Friday to Sunday and the weather there');
  const [stays, weather] = ['Accommodation', 'Weather'].map((name) => card.getByRole('region', { name, exact: true }));
  // The days of the stay are those of the weather there.
  await weather.getByText(/^Lisbon from Friday .+ to Sunday/).first().waitFor();
  for (const part of [stays, weather]) await part.getByText('Completed').waitFor();
  await stays.getByText(/^\d+ places to stay in Lisbon/).first().waitFor();
  // Both sentences are in sight: what one of several agents drew is folded.
  assert(!(await stays.locator('.beside').isVisible()));
  await stays.getByText('Places to stay', { exact: true }).click();
  const beside = await stays.locator('.beside').innerText();
  assert.match(beside, /^Lisbon · .+ – .+ · 2 guests · 2 nights$/);
  assert.match(await stays.locator('tbody td').last().innerText(), /^\d(\.\d+)?$/);
  // Nothing is said twice, once the agents say it.
  assert.equal((await page.getByRole('article', { name: 'Answer' }).innerText()).split('Lisbon from').length, 2);
  await card.getByRole('link', { name: /Weather/ }).first().click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByRole('region', { name: 'Weather', exact: true }).getByText(/^Lisbon from/).first().waitFor();
  check();
});
