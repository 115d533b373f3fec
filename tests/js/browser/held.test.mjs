// What is in the composer and not sent yet is not lost: while it is not known whose page it is, at a look elsewhere, and when a
// sign-in is renewed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, enter, shared } from './harness.mjs';

const all = shared();

const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('What we talked about') };
const chooser = (page) => page.locator('input[type=file]');
const chips = (page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');

test('what is chosen and written before the page knows whose it is stays', async (t) => {
  const { page, expect, check } = await all.visit(t, 'ada');
  expect(/503|Failed to load resource/);
  // A browser that has nothing of her, and a server that says only after a while who she is.
  await page.evaluate(() => localStorage.clear());
  let asked = 0;
  let answer;
  const answered = new Promise((resolve) => {
    answer = resolve;
  });
  await page.route('**/api/session', async (route) => {
    asked += 1;
    if (asked === 1) return route.fulfill({ status: 503, json: { error: 'later', message: 'later' } });
    await answered;
    return route.continue();
  });
  await page.goto(`${all.base}/`);
  await chooser(page).setInputFiles(note);
  await chips(page).getByText('note.txt').waitFor();
  await at(page).prompt.fill('Keep this for me');
  assert.equal(await page.getByText('Signed in as').count(), 0);
  answer();
  await page.getByText('Signed in as').waitFor();
  await chips(page).getByText('note.txt').waitFor();
  assert.equal(await at(page).prompt.inputValue(), 'Keep this for me');
  // It was handed on once.
  await chips(page).getByRole('button').click();
  await at(page).prompt.fill('');
  await page.reload();
  await page.getByText('Signed in as').waitFor();
  assert.deepEqual([await chips(page).count(), await at(page).prompt.inputValue()], [0, '']);
  check();
});

test('whoever signs in elsewhere does not find what another has written here', async (t) => {
  const { page, context, expect, check } = await all.visit(t);
  expect(/503|Failed to load resource/);
  const hidden = new Set();
  await page.route('**/api/session', (route) => (hidden.has('here') ? route.fulfill({ status: 503, json: { error: 'later', message: 'later' } }) : route.continue()));
  hidden.add('here');
  await page.reload();
  await chooser(page).setInputFiles(note);
  await at(page).prompt.fill('A secret of mine');
  await chips(page).getByText('note.txt').waitFor();
  const other = await context.newPage();
  await other.goto(`${all.base}/`);
  await enter(other, all.system, 'alan');
  hidden.clear();
  await page.bringToFront();
  await page.getByText('Signed in as').waitFor();
  assert.deepEqual([await chips(page).count(), await at(page).prompt.inputValue()], [0, '']);
  check();
});

test('files outlive a look at another view, each with its chat', async (t) => {
  const { page, check } = await all.visit(t);
  await chooser(page).setInputFiles(note);
  await chips(page).getByText('note.txt').waitFor();
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
  await page.goBack();
  await chips(page).getByText('note.txt').waitFor();
  // They leave with the message, and are in no other chat.
  await at(page).prompt.fill('Will it rain in Oslo tomorrow?');
  await at(page).prompt.press('Enter');
  await at(page).mine.getByText('note.txt').waitFor();
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  assert.equal(await chips(page).count(), 0);
  check();
});

test('a sign-in is not renewed over files that wait', async (t) => {
  const { page, check } = await all.visit(t, 'alan');
  await chooser(page).setInputFiles(note);
  await chips(page).getByText('note.txt').waitFor();
  // The page is told that the end is near; the session itself is a new one.
  const session = await page.evaluate(async () => (await fetch('api/session')).json());
  const until = new Date(Date.now() + 30 * 60_000).toISOString();
  await page.route('**/api/session', (route) => route.fulfill({ json: { ...session, until } }));
  const told = () => Promise.all([
    page.waitForResponse((response) => response.url().endsWith('/api/session')),
    page.evaluate(() => dispatchEvent(new StorageEvent('storage', { key: null }))),
  ]);
  const signIns = [];
  page.on('request', (request) => new URL(request.url()).pathname.endsWith('/signin') && signIns.push(request.url()));
  await told();
  await page.waitForTimeout(300);
  assert.deepEqual(signIns, []);
  assert.equal(await chips(page).count(), 1);
  await chips(page).getByRole('button').click();
  const back = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/signin/callback'));
  await told();
  await back;
  await page.getByText('Signed in as').waitFor();
  assert.equal(signIns.length, 1);
  check();
});
