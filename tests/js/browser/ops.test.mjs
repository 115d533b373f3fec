// What a tenant's operators look after, and that nobody else does.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ask, at, faults, shared } from './harness.mjs';

const run = promisify(execFile);

const all = shared();

test('an operator has an agent looked at, switches it off and on', async (t) => {
  const { page, check } = await all.visit(t, 'olga');
  await page.getByRole('link', { name: 'Operations' }).click();
  const horizon = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /Horizon/ }) });
  await horizon.getByText('Healthy', { exact: true }).waitFor();
  await horizon.getByText('Card', { exact: true }).click();
  await horizon.getByText(/^http.*\/\.well-known\/agent-card\.json$/).waitFor();
  await horizon.getByText(/^Registered/).waitFor();
  await horizon.getByRole('button', { name: /Check now/ }).click();
  // What others feel is asked about first, and left alone where its user thinks better of it.
  const sure = page.getByRole('dialog', { name: 'Disable: Horizon. Are you sure?' });
  await horizon.getByRole('button', { name: /Disable/ }).click();
  assert.deepEqual(await faults(page), [], 'the question');
  await sure.getByRole('button', { name: 'Keep it' }).click();
  await sure.waitFor({ state: 'detached' });
  await page.reload();
  await horizon.getByText('Healthy', { exact: true }).waitFor();
  await horizon.getByRole('button', { name: /Disable/ }).click();
  await sure.getByRole('button', { name: 'Disable' }).click();
  await horizon.getByText('Disabled').waitFor();
  await page.reload();
  await horizon.getByRole('button', { name: /Enable/ }).click();
  await horizon.getByText('Healthy', { exact: true }).waitFor();
  // The platform's own are looked at only.
  const weather = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /Weather/ }) });
  await weather.getByText('platform').waitFor();
  assert.equal(await weather.getByRole('button').count(), 0);
  await page.getByText('No language model was used in the last two weeks.').waitFor();
  check();
});

test('an operator sees the plan, pauses new tasks and goes on', async (t) => {
  const { page, check, expect } = await all.visit(t, 'olga');
  expect(/429/);
  await page.getByRole('link', { name: 'Operations' }).click();
  await page.getByRole('heading', { name: 'Plan' }).waitFor();
  await page.getByText('switchyard tenant plan').waitFor();
  const pause = page.getByRole('button', { name: 'Pause new tasks' });
  await pause.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause new tasks' }).click();
  await page.getByRole('status').getByText('New tasks are paused.').waitFor();
  assert.deepEqual(await faults(page), []);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/paused.png`, fullPage: true });
  await page.getByRole('link', { name: 'New chat' }).first().click();
  // Another process believes what it read of its tenant for ten seconds.
  await page.waitForTimeout(11_000);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  const waiting = page.locator('.pending').filter({ hasText: 'Oslo' });
  await waiting.getByText('New tasks are paused; what is at work goes on').waitFor();
  await page.getByRole('link', { name: 'Operations' }).click();
  await page.getByRole('button', { name: 'Go on' }).click();
  await pause.waitFor();
  check();
});

test('an operator replays a delivery that its receiver did not take', async (t) => {
  // The receiver is gone at first: a delivery to it is parked at once.
  let status = 410;
  const told = [];
  const hook = createServer((incoming, answer) => {
    let body = '';
    incoming.on('data', (chunk) => { body += chunk; });
    incoming.on('end', () => {
      if (status === 204) told.push(body);
      answer.writeHead(status).end();
    });
  });
  await new Promise((resolve) => hook.listen(0, '127.0.0.1', resolve));
  t.after(() => hook.close());
  const weather = String(all.system.endpoints.agents.weather).replace(/\/+$/, '');
  const { stdout: token } = await run(all.system.program, ['token', '--tenant', 'acme', '--for', weather, '--data', all.system.folder]);
  const sent = await fetch(`${weather}/message:send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.trim()}`, 'a2a-version': '1.0', 'content-type': 'application/json' },
    body: JSON.stringify({
      message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Weather in Oslo?' }] },
      configuration: { returnImmediately: true, taskPushNotificationConfig: { url: `http://127.0.0.1:${hook.address().port}/hook`, token: 't' } },
    }),
  });
  assert.equal(sent.status, 200);
  const { page, check } = await all.visit(t, 'olga');
  await page.getByRole('link', { name: 'Operations' }).click();
  const parked = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: /Deliver again/ }) });
  for (let round = 0; round < 40 && (await parked.count()) === 0; round += 1) {
    await page.reload();
    await page.getByText('Every notification has been delivered').or(parked).first().waitFor();
  }
  await parked.getByText(/410/).waitFor();
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/ops.png` });
  status = 204;
  await parked.getByRole('button', { name: /Deliver again/ }).click();
  await page.getByText('Every notification has been delivered').waitFor();
  for (let waited = 0; told.length === 0 && waited < 10_000; waited += 50) await page.waitForTimeout(50);
  assert.match(told.join('\n'), /TASK_STATE_COMPLETED/);
  check();
});

/** Tasks as a system in trouble has them. */
const troubled = {
  counts: { submitted: 2, working: 998, unknown: 1, failed: 1001, canceled: 3 },
  countedTo: 1000,
  more: true,
  tasks: [
    { state: 'unknown', stuck: 'silent', agents: ['Horizon'], attempts: 0, reason: null },
    { state: 'working', stuck: 'overdue', agents: ['Weather', 'Reports'], attempts: 1, reason: null },
    { state: 'working', stuck: 'failing', agents: [], attempts: 4, reason: 'the store did not answer' },
    { state: 'submitted', stuck: null, agents: [], attempts: 0, reason: null },
  ].map((task, number) => ({ ...task, taskId: `0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c000${number}`, createdAt: '2026-11-23T12:00:00.000Z', since: '2026-11-23T12:01:00.000Z', dueAt: null })),
};

test('an operator sees how many tasks are in which state, stuck ones first, and no word of their users', async (t) => {
  const user = await all.visit(t);
  await ask(user.page, 'Will it rain in Oslo tomorrow?');
  await at(user.page).badge.getByText('Completed').waitFor();
  await ask(user.page, 'Where is my order 1001?');
  await at(user.page).badge.getByText('Needs your consent').waitFor();
  const { page, context, check } = await all.visit(t, 'olga');
  await page.getByRole('link', { name: 'Operations' }).click();
  const counts = page.locator('.counts li');
  await counts.filter({ hasText: 'Waits for consent' }).getByText('1', { exact: true }).waitFor();
  const rows = page.getByRole('region', { name: 'Unfinished tasks' }).locator('tbody tr');
  await rows.filter({ hasText: 'Waits for consent' }).getByText('Horizon').waitFor();
  assert.equal(await page.getByText('1001').count(), 0);
  // What its agents did lately, and the course of a task, in which is no word either.
  const lately = page.getByRole('region', { name: 'Agents in the last hour and day' });
  for (const [agent, cost] of [['host', /\$0\.\d/], ['Weather', /–/]]) await lately.getByRole('row', { name: new RegExp(`^${agent} Last 24 hours`) }).getByText(cost).waitFor();
  await rows.filter({ hasText: 'Waits for consent' }).getByRole('link').click();
  const course = page.getByRole('dialog', { name: /^Timeline of/ });
  await course.getByText('Waits for consent').first().waitFor();
  await course.getByText('Horizon').waitFor();
  assert.equal(await course.getByText('1001').count(), 0);
  assert.deepEqual(await faults(page), [], 'the course of a task');
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/ops-course.png` });
  await page.keyboard.press('Escape');
  await course.waitFor({ state: 'detached' });
  await context.route(/\/api\/ops\/tasks$/, (route) => route.fulfill({ json: troubled }));
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390, 320]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.reload();
      await rows.nth(3).waitFor();
      await page.getByText('Every notification has been delivered').waitFor();
      assert.deepEqual(await faults(page), [], `${colorScheme}, ${width}`);
      assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `it scrolls sideways at ${width}`);
      const p50 = await lately.getByRole('columnheader', { name: 'p50' }).boundingBox();
      assert(p50.x + p50.width <= width, `p50 is cut off at ${width}: ${JSON.stringify(p50)}`);
      if (process.env.SHOTS) {
        await rows.last().scrollIntoViewIfNeeded();
        await page.screenshot({ path: `${process.env.SHOTS}/ops-${colorScheme}-${width}.png` });
      }
    }
  }
  // Whoever scrolls there sees all of it.
  for (const name of ['Unfinished tasks', 'Keys']) {
    const [region, table] = await Promise.all([page.getByRole('region', { name }).boundingBox(), page.getByRole('region', { name }).getByRole('table').boundingBox()]);
    assert(region.height >= table.height, `${name}: ${region.height} of ${table.height}`);
  }
  assert.deepEqual(await counts.allInnerTexts(), ['Submitted 2+', 'Working 998+', 'No response 1+', 'Failed 1,000+', 'Canceled 3']);
  const keys = page.getByRole('region', { name: 'Keys' }).locator('tbody tr');
  await keys.filter({ hasText: 'Signs session tokens' }).filter({ hasText: '(signs now)' }).getByText('0 days').waitFor();
  await keys.filter({ hasText: 'Seals secrets' }).getByText('0 days').waitFor();
  const why = await rows.locator('td:first-child .problem').allInnerTexts();
  assert.deepEqual(why, ['Its agent did not answer in time', 'Due, but nobody works on it', 'Each attempt ends without an outcome']);
  check();
});

test('an admin adds a user, gives a role, takes both away, and sets how the page is called', async (t) => {
  const { page, expect, check } = await all.visit(t, 'adam');
  await page.getByRole('link', { name: 'Operations' }).click();
  const add = page.getByRole('form', { name: 'Add user' });
  await add.getByLabel('Username').fill('grace');
  await add.getByLabel('Name', { exact: true }).fill('Grace');
  await add.getByRole('button', { name: 'Add user' }).click();
  await page.getByText('The password of grace, shown once:').waitFor();
  const operator = page.getByRole('checkbox', { name: 'Operator: Grace' });
  await operator.click();
  await page.waitForFunction(() => document.querySelector('[aria-label="Operator: Grace"]')?.checked);
  assert.deepEqual(await faults(page), []);
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/admin.png`, fullPage: true });
  // Nobody shuts themselves out: what the server refuses is said there.
  await page.getByRole('checkbox', { name: 'Admin: adam' }).or(page.getByRole('checkbox', { name: /^Admin: Adam/ })).first().click();
  await page.getByRole('alert').getByText(/this is your own account/).waitFor();
  await page.getByRole('button', { name: 'Remove: Grace' }).click();
  await page.getByRole('dialog', { name: 'Remove: Grace. Are you sure?' }).getByRole('button', { name: 'Remove' }).click();
  await operator.waitFor({ state: 'detached' });
  const settings = page.getByRole('form', { name: 'Settings' });
  assert.deepEqual(await settings.getByLabel('Sharing').locator('option').allInnerTexts(), ['', 'on', 'off'], 'what can be one of few is chosen');
  await settings.getByLabel(/^How long things are kept/).waitFor();
  assert.deepEqual((await settings.locator('label').allInnerTexts()).filter((label) => /^[a-z]/.test(label)), [], 'each setting is called by a name of ours');
  const save = async () => {
    const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await settings.getByRole('button', { name: 'Save' }).click();
    return answered;
  };
  await settings.getByLabel(/^Start cards/).fill('report');
  // Its answer is not taken for the next one's.
  await save();
  await page.waitForFunction(async () => (await (await fetch('api/models')).json()).models[1].id === 'report');
  await settings.getByLabel(/^Name of the page/).fill('Acme Desk');
  const saved = await save();
  assert.deepEqual([saved.request().postDataJSON(), (await saved.json()).brand], [{ brand: 'Acme Desk' }, 'Acme Desk']);
  expect(/409/);
  check();
});

test('a guest is asked to sign in, and to a member there is no such thing', async (t) => {
  for (const [name, said] of [[null, 'Operations'], ['alan', 'Not found']]) {
    const { page, expect, check } = await all.visit(t, name);
    expect(/404/);
    await page.getByRole('link', { name: 'Connected accounts' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operations' }).count(), 0);
    await page.goto(`${all.base}/ops`);
    await page.getByRole('heading', { name: said }).waitFor();
    if (name === null) await page.getByText('Sign in as an operator').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Agents' }).count(), 0);
    check();
  }
});
