// The page without a network: it opens, keeps what is written, and sends it later. Its service worker keeps hashed files and nothing else.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ask, at, shared, signIn } from './harness.mjs';

const all = shared({ worker: true });

/** Once the page's service worker runs, and has this page. */
const isServed = (page) => page.evaluate(async () => {
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }));
});

/** Everything that service workers keep here, by name of the cache. */
const kept = (page) => page.evaluate(async () => {
  const found = {};
  for (const name of await caches.keys()) found[name] = (await (await caches.open(name)).keys()).map(({ url }) => url.replace(/^.*?\/t\//, ''));
  return found;
});

test('offline the page opens and takes messages; online they leave in their order', async (t) => {
  const { page, context, expect, check } = await all.visit(t);
  expect(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
  await isServed(page);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await at(page).badge.getByText('Completed').waitFor();
  const chat = page.url();
  await context.setOffline(true);
  for (const place of ['Rome', 'Paris']) await ask(page, `Will it rain in ${place} tomorrow?`);
  await page.getByText('Not sent yet').first().waitFor();
  await page.reload();
  assert.equal(page.url(), chat);
  await at(page).mine.getByText('Paris').waitFor();
  await page.getByText('You are offline').waitFor();
  await ask(page, 'Will it rain in Cairo tomorrow?');
  await at(page).mine.getByText('Cairo').waitFor();
  // Another view, and another tab, are there too.
  const other = await context.newPage();
  await other.goto(`${all.base}/tasks`);
  await other.getByRole('heading', { name: 'Tasks' }).waitFor();
  await other.getByRole('button', { name: 'Try again' }).first().waitFor();
  await context.setOffline(false);
  await page.waitForFunction(() => document.querySelectorAll('.card[data-state=completed]').length === 4, null, { timeout: 60_000 });
  const said = (await at(page).mine.allInnerTexts()).map((text) => text.match(/rain in (\w+)/)[1]);
  assert.deepEqual(said, ['Oslo', 'Rome', 'Paris', 'Cairo']);
  // What could not be read comes by itself.
  await other.getByRole('link', { name: /Weather/ }).first().waitFor();
  check();
});

test('the service worker keeps hashed files only, below its own tenant', async (t) => {
  const { page, context, check } = await all.visit(t);
  await isServed(page);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await at(page).badge.getByText('Completed').waitFor();
  await page.reload();
  await at(page).badge.getByText('Completed').waitFor();
  const found = await kept(page);
  assert.deepEqual(Object.keys(found), ['switchyard:/t/acme/']);
  assert(found['switchyard:/t/acme/'].length >= 3, JSON.stringify(found));
  for (const file of found['switchyard:/t/acme/']) assert.match(file, /^acme\/assets\/[\w]+-[\w-]{8}\.(?:js|css|webmanifest)$/);
  const scopes = () => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => new URL(scope).pathname).sort());
  assert.deepEqual(await scopes(), ['/t/acme/']);
  // The neighbour on this origin has one of its own.
  const globex = await context.newPage();
  await globex.goto(`${all.system.base('globex')}/`);
  await isServed(globex);
  assert.deepEqual(await scopes(), ['/t/acme/', '/t/globex/']);
  assert.deepEqual(Object.keys(await kept(page)).sort(), ['switchyard:/t/acme/', 'switchyard:/t/globex/']);
  check();
});

test('the policy lets no other script become a worker', async (t) => {
  const { page, expect, check } = await all.visit(t);
  expect(/policy: (trusted-types|require-trusted-types-for)|TrustedScriptURL|TrustedTypePolicy/);
  const tried = await page.evaluate(async () => {
    const named = async (act) => Promise.resolve().then(act).then(() => 'done', (error) => error.name);
    return {
      plain: await named(() => navigator.serviceWorker.register('worker.js')),
      other: await named(() => trustedTypes.createPolicy('other', {})),
      again: await named(() => trustedTypes.createPolicy('switchyard-worker', { createScriptURL: (url) => url })),
    };
  });
  assert.deepEqual(tried, { plain: 'TypeError', other: 'TypeError', again: 'TypeError' });
  check();
});

test('signing out takes the worker and its files too, and the next visit has them again', async (t) => {
  const { page, check } = await all.visit(t);
  await isServed(page);
  await signIn(page, all.system, 'olga');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor();
  const left = await page.evaluate(async () => [await caches.keys(), (await navigator.serviceWorker.getRegistrations()).length]);
  assert.deepEqual(left, [[], 0]);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(/\/t\/acme\/$/);
  await page.getByText('You are a guest').waitFor();
  await isServed(page);
  check();
});

test('another worker waits for the tabs of the older page, and takes its files away', async (t) => {
  const { page, context, check } = await all.visit(t);
  await isServed(page);
  await page.evaluate(async () => {
    const cache = await caches.open('switchyard:/t/acme/');
    await cache.put('assets/older-12345678.js', new Response('export {}'));
  });
  // As after a deployment the document is another one; the server reads a brand again after some seconds.
  await promisify(execFile)(all.system.program, ['tenant', 'brand', 'acme', '--data', all.system.folder, '--name', 'Another']);
  const isWaiting = () => page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    await registration.update();
    return registration.waiting?.state === 'installed';
  });
  for (let round = 0; !(await isWaiting()); round += 1) {
    assert(round < 60, 'no other worker');
    await page.waitForTimeout(500);
  }
  const older = (found) => found['switchyard:/t/acme/'].includes('acme/assets/older-12345678.js');
  assert(older(await kept(page)));
  await page.close();
  const next = await context.newPage();
  await next.goto(`${all.base}/`);
  await isServed(next);
  for (let round = 0; older(await kept(next)) && round < 50; round += 1) await next.waitForTimeout(100);
  assert(!older(await kept(next)));
  check();
});
