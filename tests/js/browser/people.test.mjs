// People on the page: a guest's work becomes that of whoever signs in and says so, and signing out everywhere ends every browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, at, enter, faults, shared } from './harness.mjs';

const all = shared();

const cookieOf = async (context) => (await context.cookies()).find(({ name }) => name === 'switchyard_acme')?.value;

test('a guest signs in, takes over what was begun, and nobody else has it', async (t) => {
  const { page, context, expect, check } = await all.visit(t);
  // Until it is taken over, the chat that one comes back to is still the guest's.
  expect(/404 .*\/messages/);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await at(page).badge.getByText('Completed').waitFor();
  const chat = page.url();
  const before = await cookieOf(context);
  await enter(page, all.system, 'ada');
  const after_ = await cookieOf(context);
  assert(before && after_ && before !== after_, 'the session is another one after signing in');
  const whose = page.getByRole('dialog', { name: /^Keep the chat/ });
  await whose.waitFor();
  assert.equal(await page.getByText('Not found').count(), 0, 'the chat may be theirs yet');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Add to my account', 'what is suggested is preselected');
  await whose.getByRole('button', { name: 'Add to my account' }).click();
  await page.getByRole('navigation', { name: 'Your chats' }).getByRole('link', { name: /Oslo/ }).waitFor();
  await page.goto(chat);
  await at(page).badge.getByText('Completed').waitFor();

  // The guest's own session leads to nothing any more, and neither does somebody else's.
  const guest = await fetch(`${all.base}/api/chats`, { headers: { cookie: `switchyard_acme=${before}` } });
  assert.deepEqual((await guest.json()).chats ?? [], []);
  const other = await all.visit(t);
  await enter(other.page, all.system, 'alan');
  other.expect(/404/);
  await other.page.goto(chat);
  await other.page.getByRole('heading', { name: 'Not found' }).waitFor();
  other.check();
  check();
});

test('signing out everywhere ends the session of every browser', async (t) => {
  const [here, there] = [await all.visit(t), await all.visit(t)];
  for (const { page } of [here, there]) {
    await enter(page, all.system, 'alan');
    await page.goto(`${all.base}/`);
    await page.getByText('Signed in as').waitFor();
  }
  await here.page.getByRole('button', { name: 'Sign out' }).click();
  await here.page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await here.page.waitForURL((url) => url.href.startsWith(all.base));
  await here.page.getByText('You are a guest.').waitFor();
  // The other browser learns of it with what it asks next.
  await there.page.reload();
  await there.page.getByText('You are a guest.').waitFor();
  assert.equal(await there.page.getByText('Signed in as').count(), 0);
  here.check();
  there.check();
});

test('where one has to sign in, the way in can be read at every width', async (t) => {
  const { page, check } = await all.visit(t);
  const session = await page.evaluate(async () => (await fetch('api/session')).json());
  await page.route('**/api/session', (route) => route.fulfill({ json: { ...session, signInRequired: true } }));
  await page.reload();
  const way = page.getByRole('link', { name: 'Sign in' });
  for (const width of [1280, 700, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await way.waitFor();
    const [button, words] = await Promise.all([way.boundingBox(), page.getByText('Sign in to continue.').boundingBox()]);
    assert(button.width > 200 && button.height < 60, `${width}: the button has ${JSON.stringify(button)}`);
    assert(words.height < 80, `${width}: the words have ${JSON.stringify(words)}`);
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `it scrolls sideways at ${width}`);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      assert.deepEqual(await faults(page), [], `${width}, ${colorScheme}`);
    }
  }
  check();
});

test('a sign-in in its last hour is renewed without a question, once', async (t) => {
  const { page, context, check } = await all.visit(t);
  await enter(page, all.system, 'olga');
  const before = await cookieOf(context);
  // The page is told that the end is near; the session itself is a new one.
  const until = new Date(Date.now() + 30 * 60_000).toISOString();
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), until } });
  });
  const asked = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/signin')) asked.push(url.search);
  });
  const back = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/signin/callback'));
  await page.goto(`${all.base}/tasks`);
  await back;
  await page.waitForURL(`${all.base}/tasks`);
  await page.getByText('Signed in as').waitFor();
  const renewed = await cookieOf(context);
  assert(renewed && renewed !== before, 'another session');
  assert.equal(await page.locator('[name=password]').count(), 0);
  await page.reload();
  await page.getByText('Signed in as').waitFor();
  assert.equal(asked.length, 1, `once: ${asked}`);
  assert.match(asked[0], /prompt=none/);
  // The one before leads nowhere any more.
  const old = await fetch(`${all.base}/api/session`, { headers: { cookie: `switchyard_acme=${before}` } });
  assert.equal((await old.json()).who, 'nobody');
  check();
});
