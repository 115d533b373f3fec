// What a tenant's operators look after, and that nobody else does.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, signIn, System, visitor } from './harness.mjs';

let system, browser, base;
before(async () => {
  [system, browser] = await Promise.all([System.start(), launch()]);
  base = system.base('acme');
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

async function visit(t, name) {
  const own = await visitor(browser);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${base}/`);
  if (name) await signIn(page, system, name);
  return { ...own, page };
}

test('an operator has an agent looked at, switches it off and on', async (t) => {
  const { page, check } = await visit(t, 'olga');
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

test('to a guest and to a member there is no such thing', async (t) => {
  for (const name of [null, 'alan']) {
    const { page, expect, check } = await visit(t, name);
    expect(/404/);
    await page.getByRole('link', { name: 'Connected accounts' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operations' }).count(), 0);
    await page.goto(`${base}/ops`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    check();
  }
});
