// What a browser keeps of whoever is there: it leaves in nobody else's name, goes with them, and holds no code.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, at, launch, signIn, System, visitor } from './harness.mjs';

let system, strict, browser;
before(async () => {
  [system, strict, browser] = await Promise.all([System.start(), System.start('--require-sign-in'), launch()]);
});
after(async () => {
  await browser?.close();
  await Promise.all([system?.stop(), strict?.stop()]);
});

/** A fresh profile at the page of a system. */
async function visit(t, own) {
  const visited = await visitor(browser);
  visited.expect(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
  t.after(() => visited.context.close());
  const page = await visited.context.newPage();
  page.setDefaultTimeout(20_000);
  const base = own.base('acme');
  await page.goto(`${base}/`);
  return { ...visited, base, page, ...at(page) };
}

/** Here, and then at the provider, which asks. */
async function signOut(page) {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL(/\/t\/acme\/$/);
}

/** Everything that pages keep in this browser, as one text. */
const everything = (page) => page.evaluate(async () => {
  const asked = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const all = [Object.entries(localStorage), Object.entries(sessionStorage)];
  for (const { name } of await indexedDB.databases()) {
    const database = await asked(indexedDB.open(name));
    for (const store of database.objectStoreNames) all.push(await asked(database.transaction(store).objectStore(store).getAll()));
    database.close();
  }
  return JSON.stringify(all);
});

const titles = (page) => page.evaluate(async () => (await (await fetch('api/chats')).json()).chats.map(({ title }) => title));

/** The server takes no message: what is said waits. */
async function away(context) {
  await context.route(/\/api\/chat$/, (route) => route.abort('internetdisconnected'));
  return () => context.unroute(/\/api\/chat$/);
}

test('what a guest wrote is not said by whoever signs in', async (t) => {
  const { page, context, badge, mine, check } = await visit(t, system);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const back = await away(context);
  await ask(page, 'Will it rain in Rome tomorrow?');
  await page.getByText('Not sent yet').waitFor();
  await at(page).prompt.fill('half a thought');
  const before = await everything(page);
  assert(before.includes('Rome') && before.includes('half a thought'), before);
  await signIn(page, system, 'olga');
  const kept = await everything(page);
  assert(!kept.includes('Rome') && !kept.includes('half a thought'), kept);
  await back();
  await page.goto(`${system.base('acme')}/`);
  await ask(page, 'Will it rain in Bergen tomorrow?');
  await badge.getByText('Completed').waitFor();
  assert.deepEqual(await titles(page), ['Will it rain in Bergen tomorrow?']);
  assert.equal(await mine.count(), 1);
  check();
});

test('a tab that somebody left open says nothing in the name of the next one, and forgets them', async (t) => {
  const { page, context, base, badge, check } = await visit(t, system);
  await signIn(page, system, 'olga');
  await page.goto(`${base}/`);
  const back = await away(context);
  await ask(page, 'Will it rain in Lisbon tomorrow?');
  await page.getByText('Not sent yet').waitFor();
  // The next one comes by another window, and this tab does not learn of it.
  const before = await page.evaluate(async () => (await fetch('api/session')).json());
  await page.route(/\/api\/session$/, (route) => route.fulfill({ json: before }));
  const other = await context.newPage();
  await other.goto(`${base}/`);
  await signOut(other);
  await context.clearCookies();
  await other.goto(`${base}/`);
  await signIn(other, system, 'alan');
  const answered = page.waitForResponse((response) => response.url().endsWith('/api/chat') && response.status() === 409);
  await back();
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await answered;
  await page.unroute(/\/api\/session$/);
  await page.waitForFunction(() => !document.body.innerText.includes('Lisbon'));
  assert.deepEqual(await titles(other), []);
  assert(!(await everything(other)).includes('Lisbon'));
  await ask(other, 'Will it rain in Bergen tomorrow?');
  await at(other).badge.getByText('Completed').waitFor();
  assert.deepEqual(await titles(other), ['Will it rain in Bergen tomorrow?']);
  assert.equal(await badge.count(), 0);
  check();
});

test('whoever signs out, or whose session has ended, leaves nothing in the browser', async (t) => {
  const { page, context, base, check } = await visit(t, strict);
  const write = async () => {
    await signIn(page, strict, 'olga');
    await page.goto(`${base}/`);
    await page.getByText('Signed in as').waitFor();
    await at(page).prompt.fill('half a thought');
    await away(context);
    await ask(page, 'Will it rain in Rome tomorrow?');
    await page.getByText('Not sent yet').waitFor();
    await at(page).prompt.fill('half a thought');
    const kept = await everything(page);
    assert(kept.includes('Rome') && kept.includes('half a thought'), kept);
  };
  const isEmpty = async () => {
    const kept = await everything(page);
    assert(!kept.includes('Rome') && !kept.includes('thought'), kept);
  };
  await write();
  // Elsewhere it was ended; this page learns of it by what it asks next.
  await context.clearCookies();
  await page.getByRole('link', { name: 'Tasks' }).click();
  await page.getByText('Sign in to continue').waitFor();
  await isEmpty();

  await write();
  await signOut(page);
  await page.goto(`${base}/`);
  await page.getByText('Sign in to continue').waitFor();
  await isEmpty();
  check();
});

test('a code is never put there, nor most of one', async (t) => {
  const { page, context, prompt, check } = await visit(t, system);
  await away(context);
  const said = 'it says BCDF-GHJK';
  await prompt.click();
  for (const letter of said) {
    await page.keyboard.type(letter);
    const kept = await everything(page);
    assert(!/BCDF-G/i.test(kept), kept);
  }
  await prompt.press('Enter');
  await page.getByText('Not sent yet').waitFor();
  const kept = await everything(page);
  assert(!kept.includes('BCDF'), kept);
  check();
});

test('whoever signs in is asked whether the chats of this browser are theirs', async (t) => {
  const { page, context, check } = await visit(t, system);
  const session = { who: 'person', owner: 'p', name: 'Ada', username: 'ada', role: 'member', signIn: `${system.base('acme')}/signin`, signInRequired: false };
  let takeOver = { chats: 3, lastAt: '2026-11-24T14:05:00.000Z', suggested: true };
  const asked = [];
  await context.route(/\/api\/session$/, (route) => route.fulfill({ json: { ...session, takeOver } }));
  await context.route(/\/api\/session\/guest$/, async (route) => {
    asked.push(route.request().postDataJSON());
    if (asked.length === 1) return route.fulfill({ status: 503, json: { error: 'unavailable', message: 'Not now.' } });
    takeOver = null;
    return asked.length === 2 ? route.fulfill({ json: { taken: true } }) : route.fulfill({ status: 409, json: { error: 'guest_gone', message: 'Gone.' } });
  });
  await page.goto(`${system.base('acme')}/`);
  const dialog = page.getByRole('dialog', { name: 'Keep the 3 chats from this browser?' });
  await dialog.getByText('24 Nov 2026, 15:05').waitFor();
  await dialog.getByRole('button', { name: 'Add to my account' }).click();
  await dialog.getByText('Not now.').waitFor();
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: 'Add to my account' }).click()]);
  await page.getByText('Signed in as').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  // What is nobody's any more is no question.
  takeOver = { chats: 1, suggested: false };
  await page.reload();
  const one = page.getByRole('dialog', { name: 'Keep the chat from this browser?' });
  await one.getByRole('button', { name: 'Leave them' }).click();
  await one.waitFor({ state: 'detached' });
  assert.deepEqual(asked, [{ take: true }, { take: true }, { take: false }]);
  // Rubbish is none.
  takeOver = { chats: 'many' };
  await page.reload();
  await page.getByText('Signed in as').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  check();
});
