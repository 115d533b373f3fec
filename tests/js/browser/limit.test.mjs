// A user's share of the plan is used up: the page says so in a sentence, keeps what was typed, and sends it once there is room.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ask, at, faults, shared } from './harness.mjs';

const run = promisify(execFile);
const all = shared();
const command = (...words) => run(all.system.program, [...words, '--data', all.system.folder]);

test('what is over the limit is kept, told in a sentence, and goes once an administrator has raised the share', { timeout: 240_000 }, async (t) => {
  // A tenth of it is a user's: two tasks.
  await command('tenant', 'plan', 'acme', 'starter', '--tasks-a-day', '20');
  const told = await command('tenant', 'plan', 'acme');
  assert.match(told.stdout, /plan: starter\n.*tasks_per_day: 20 {2}\(set for it alone\)/s);
  const { page, check, expect } = await all.visit(t, 'ada');
  expect(/429/);
  const badges = page.locator('.card .badge').getByText('Completed');
  const waiting = page.locator('.pending').filter({ hasText: 'Paris' });
  // A process believes what it read of its tenant for ten seconds.
  await page.waitForTimeout(11_000);
  for (const place of ['Oslo', 'Rome']) {
    await ask(page, `Will it rain in ${place} tomorrow?`);
    await badges.nth(place === 'Oslo' ? 0 : 1).waitFor({ timeout: 60_000 });
  }
  await ask(page, 'Will it rain in Paris tomorrow?');
  const sentence = waiting.getByRole('alert').getByText("You have used today's 2 tasks; more from 00:00 UTC, or ask your administrator");
  await sentence.waitFor();
  assert.deepEqual(await faults(page), []);
  // Nothing is lost: it is there after a reload, and still not taken.
  await page.reload();
  await waiting.waitFor();
  await sentence.waitFor();
  await command('user', 'share', 'ada', '50', '--tenant', 'acme');
  const answer = at(page).answer.filter({ hasText: 'Paris' });
  for (let round = 0; round < 20 && (await answer.count()) === 0; round += 1) {
    const again = waiting.getByRole('button', { name: 'Try again' });
    if (await again.count()) await again.click();
    await page.waitForTimeout(2_000);
  }
  await answer.first().waitFor({ timeout: 60_000 });
  assert.equal(await waiting.count(), 0, 'nothing waits any more');
  // What it cost is told by user and day, and as a bill that other programs read.
  const usage = async (...words) => (await command('usage', '--tenant', 'acme', '--days', '2', ...words)).stdout;
  assert.match(await usage('--csv'), /^day,tenant,owner,agent,tasks,failed,dollars\n[\s\S]*,acme,person-[\w-]+,host,3,0,0\.000[0-9]{3}\n[\s\S]*,acme,shared,,0,0,0\.09/);
  assert.match(await usage('--by', 'user'), /person-[\w-]+ {2}3 tasks, 0\.000[0-9]{3} dollars\nshared/);
  assert.match(await usage('--focus'), /^BilledCost,BillingAccountId,/);
  check();
});
