// What a tenant's operators look after, and that nobody else does.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { shared } from './harness.mjs';

const run = promisify(execFile);

const all = shared();

test('an operator has an agent looked at, switches it off and on', async (t) => {
  const { page, check } = await all.visit(t, 'olga');
  await page.getByRole('link', { name: 'Operations' }).click();
  const horizon = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: /Horizon/ }) });
  await horizon.getByText('Healthy', { exact: true }).waitFor();
  await horizon.getByRole('button', { name: /Check now/ }).click();
  await horizon.getByRole('button', { name: /Disable/ }).click();
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

test('to a guest and to a member there is no such thing', async (t) => {
  for (const name of [null, 'alan']) {
    const { page, expect, check } = await all.visit(t, name);
    expect(/404/);
    await page.getByRole('link', { name: 'Connected accounts' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operations' }).count(), 0);
    await page.goto(`${all.base}/ops`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    check();
  }
});
