// What a task was, what waits for its user, and that work survives a crash of those who do it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, at, launch, System, visitor } from './harness.mjs';

let system, browser, base;
before(async () => {
  [system, browser] = await Promise.all([System.start('--plan-approval', 'always'), launch()]);
  base = system.base('acme');
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

async function visit(t, options) {
  const own = await visitor(browser, options);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${base}/`);
  return { ...own, page, ...at(page) };
}

test('a task is shown as it was at each of its changes', async (t) => {
  const { page, card, badge, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  await card.getByRole('link', { name: /Weather/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByText('Trace ID').waitFor();
  await panel.getByRole('tab', { name: 'Timeline' }).click();
  const slider = panel.getByRole('slider', { name: 'Show the task as it was at each change' });
  const entries = panel.locator('.timeline li');
  const all = await entries.count();
  await slider.press('Home');
  await panel.locator('.past .badge').getByText('Submitted').waitFor();
  await panel.getByText(/^Revision 1 of \d+$/).waitFor();
  await panel.getByText('No result yet.').waitFor();
  assert.equal(await entries.count(), 1);
  await panel.getByRole('button', { name: 'Later' }).click();
  await panel.getByText(/^Revision 2 of \d+$/).waitFor();
  // What it noted for itself is a change too.
  await slider.press('PageUp');
  await panel.locator('.past .badge').getByText('Working').first().waitFor();
  await slider.press('End');
  await panel.locator('.past').waitFor({ state: 'detached' });
  assert.equal(await entries.count(), all);
  check();
});

test('what waits is counted over all chats, in the title and beside the chats', async (t) => {
  const { page, context, card, badge, check } = await visit(t);
  await ask(page, 'Where is my order 1001?');
  await badge.getByText('Needs your consent').waitFor();
  await page.getByRole('link', { name: '1 thing waits for you' }).waitFor();
  await page.goto(`${base}/`);
  await ask(page, 'weather in Springfield');
  await badge.getByText('Needs your answer').waitFor();
  await page.getByRole('link', { name: '2 things wait for you' }).waitFor();
  await page.waitForFunction(() => document.title === '(2) weather in Springfield · Switchyard');
  // Another tab knows it too, and what is settled in one counts in none.
  const other = await context.newPage();
  await other.goto(`${base}/accounts`);
  await other.getByRole('link', { name: '2 things wait for you' }).waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await badge.getByText('Canceled').waitFor();
  await other.getByRole('link', { name: '1 thing waits for you' }).click();
  const rows = other.locator('.rows li');
  await rows.getByText('Where is my order 1001?').waitFor();
  assert.equal(await rows.count(), 1);
  await other.getByRole('button', { name: /^All/ }).click();
  await rows.getByText('weather in Springfield').waitFor();
  await other.getByLabel('Agent').selectOption('Horizon');
  assert.equal(await rows.count(), 1);
  check();
});

test('what the host asks is listed with what waits, and a task is found by what its answer says', async (t) => {
  const { page, badge, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  await ask(page, 'purple elephants');
  await badge.getByText('Needs your answer').waitFor();
  await page.getByRole('link', { name: '1 thing waits for you' }).click();
  const rows = page.locator('.rows li');
  await rows.locator('.row-what').getByText('purple elephants').waitFor();
  assert.equal(await rows.count(), 1, 'as many as were counted');
  await page.getByRole('button', { name: /^All/ }).click();
  await rows.nth(1).waitFor();
  await page.getByLabel('Search tasks').fill('°C');
  await rows.nth(1).waitFor({ state: 'detached' });
  await rows.getByText('Will it rain in Oslo tomorrow?').waitFor();
  check();
});

test('tasks stand by their day, are found by a word, and are canceled together', async (t) => {
  const { page, badge, check } = await visit(t);
  for (const topic of ['whales', 'foxes', 'owls']) {
    await page.goto(`${base}/`);
    await ask(page, `Write a report about ${topic}`);
    await badge.getByText('Working').waitFor();
  }
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  const today = page.getByRole('region', { name: 'Today' });
  await today.getByRole('listitem').nth(2).waitFor();
  await page.getByLabel('Search tasks').fill('OWLS');
  await today.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
  assert.match(await today.getByRole('listitem').innerText(), /owls/);
  await page.getByLabel('Search tasks').fill('nothing of the kind');
  await page.getByText('No tasks match this filter.').waitFor();
  await page.getByLabel('Search tasks').fill('');
  await page.getByRole('button', { name: 'Cancel all of these (3)' }).click();
  await page.getByRole('dialog', { name: /^Cancel 3 tasks\?/ }).getByRole('button', { name: 'Cancel all of these' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.rows .badge[data-state=canceled]').length === 3);
  assert.equal(await page.getByRole('button', { name: /^Cancel all/ }).count(), 0);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/tasks.png` });
  check();
});

test('a plan waits for its start, and its steps follow one another', async (t) => {
  const { page, card, badge, check } = await visit(t);
  await ask(page, 'Weather in Oslo tomorrow, then write a report on it');
  await card.getByText('after step 1').waitFor();
  assert.equal(await card.locator('.steps .badge').getByText('Planned').count(), 2);
  // Opened beside its card, the task has no second button; where the card is covered, it has.
  await card.getByRole('link').first().click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByText('after step 1').waitFor();
  const starts = page.getByRole('button', { name: 'Start', exact: true }).filter({ visible: true });
  assert.equal(await starts.count(), 1);
  await page.setViewportSize({ width: 390, height: 780 });
  await panel.getByRole('button', { name: 'Start', exact: true }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await panel.getByRole('link', { name: 'Close' }).click();
  await card.getByRole('button', { name: 'Start' }).click();
  // A report on what little the first step brought takes no time: that it works on it stands in its answer.
  await card.locator('.steps li').nth(0).getByText('Completed').waitFor();
  await card.locator('.steps li').nth(1).getByText('Completed').waitFor();
  await badge.getByText('Completed').nth(2).waitFor({ timeout: 60_000 });
  await page.getByText('Report on what Weather brought').first().waitFor();
  assert.equal(await card.count(), 1);
  check();
});

test('one failed step of a plan is tried again by its button', async (t) => {
  const { page, context, card, expect, check } = await visit(t);
  // The server knows no such task, whose parts the card would show.
  expect(/404/);
  const time = '2026-11-23T12:00:00.000Z';
  const id = '0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c0001';
  const step = (number, agentName, after) => ({ number, agentName, agentType: 'x', instruction: 'Oslo', after, uses: after, optional: false, state: 'planned', reason: null, guard: null });
  const plan = { goal: null, hash: 'h', isApproved: true, steps: [step(0, 'Weather', []), step(1, 'Reports', []), { ...step(2, 'Horizon', [1]), state: 'skipped', reason: 'step 2 failed' }] };
  const jobs = [{ number: 0, agentName: 'Weather', state: 'completed' }, { number: 1, agentName: 'Reports', state: 'failed' }];
  const data = { artifactType: 'task', taskId: id, contextId: 'c', state: 'input-required', updatedAt: time, title: 'A trip', agentName: 'Reports', plan, jobs };
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'A trip' }] }, { id: 'm2', role: 'assistant', parts: [{ type: 'data-task', id, data }] }];
  await context.route(/\/api\/chats\/trip\/messages/, (route) => route.fulfill({ json: { messages, next: null } }));
  await page.goto(`${base}/chats/trip`);
  const again = card.getByRole('button', { name: /^Try step/ });
  await again.first().waitFor();
  // What only waited for the failed one goes with it.
  assert.deepEqual(await again.allInnerTexts(), ['Try step 2 again']);
  await card.getByRole('button', { name: 'Continue without' }).waitFor();
  const [said] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/chat')), again.click()]);
  const body = said.postDataJSON();
  assert.deepEqual([body.message.parts[0].text, body.taskId], ['retry 2', id]);
  check();
});

test('the workers are killed in the middle of a report, and it finishes once', async (t) => {
  const { page, card, badge, answer, check } = await visit(t);
  await page.getByRole('button', { name: 'See it survive a crash' }).click();
  await page.getByText(/killed in the middle of the work/).waitFor();
  await page.getByText(/^It survived: one task, one result, completed once/).waitFor({ timeout: 90_000 });
  await badge.getByText('Completed').waitFor();
  await answer.getByRole('heading', { name: /Report on resilience/ }).waitFor();
  assert.equal(await card.count(), 1);
  check();
});

test('nobody kills workers from another site', async () => {
  const kill = (headers) => fetch(`http://127.0.0.1:${system.port}/local/workers/kill`, { method: 'POST', headers, body: '{}' });
  assert.equal((await kill({ 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await kill({ 'content-type': 'application/json', origin: 'https://evil.example' })).status, 403);
  assert.equal((await kill({ 'content-type': 'text/plain' })).status, 415);
  const killed = await (await kill({ 'content-type': 'application/json' })).json();
  assert.equal(typeof killed.killed, 'number');
});
