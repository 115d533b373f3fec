// A browser that has no page open is told when a task finishes: the switch, what leaves for its push service, and what it shows.

import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import ece from 'http_ece';
import { ask, at, faults, shared, signIn } from './harness.mjs';

const all = shared({ worker: true, up: ['--push-service', '127.0.0.1'] });

/** A push service: what it was sent, as whoever has the browser's keys reads it. */
class Service {
  keys = createECDH('prime256v1');
  auth = randomBytes(16);
  sent = [];

  async start() {
    this.keys.generateKeys();
    this.server = createServer((incoming, outgoing) => {
      const pieces = [];
      incoming.on('data', (piece) => pieces.push(piece));
      incoming.on('end', () => {
        const read = ece.decrypt(Buffer.concat(pieces), { version: 'aes128gcm', privateKey: this.keys, authSecret: this.auth.toString('base64url') });
        this.sent.push(read.toString());
        outgoing.writeHead(201).end();
      });
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.endpoint = `http://127.0.0.1:${this.server.address().port}/send/${randomBytes(8).toString('hex')}`;
  }

  async nth(count) {
    for (let waited = 0; this.sent.length < count; waited += 50) {
      assert(waited < 30_000, `the browser was told ${this.sent.length} times, not ${count}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return this.sent[count - 1];
  }
}

let service;
before(async () => {
  service = new Service();
  await service.start();
});
after(() => service.server.close());

/**
 * Gives pages a push service of the test's own: that of Chromium is Google's. Everything else is the browser's: its permission, its
 * service worker, its notifications.
 */
async function withService(context) {
  const told = { keys: { p256dh: service.keys.getPublicKey('base64url'), auth: service.auth.toString('base64url') }, endpoint: service.endpoint };
  const state = { key: null };
  await context.exposeFunction('subscribed', (key) => {
    if (key !== undefined) state.key = key;
    return state.key;
  });
  await context.addInitScript(({ endpoint, keys }) => {
    const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0)).buffer;
    const made = (key) => ({
      endpoint,
      options: { userVisibleOnly: true, applicationServerKey: bytes(key) },
      toJSON: () => ({ endpoint, expirationTime: null, keys }),
      unsubscribe: async () => (await window.subscribed(null)) === null,
    });
    PushManager.prototype.getSubscription = async () => {
      const key = await window.subscribed(undefined);
      return key ? made(key) : null;
    };
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly || Notification.permission !== 'granted') throw new DOMException('no permission', 'NotAllowedError');
      return made(await window.subscribed(applicationServerKey));
    };
  }, told);
  return state;
}

/** The browser's own push to the page's service worker. */
async function pusher(context, page) {
  const tools = await context.newCDPSession(page);
  const found = new Promise((resolve) => {
    tools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [own] = registrations.filter(({ scopeURL, isDeleted }) => scopeURL === `${all.base}/` && !isDeleted);
      if (own) resolve(own.registrationId);
    });
  });
  await tools.send('ServiceWorker.enable');
  const registrationId = await found;
  return (data) => tools.send('ServiceWorker.deliverPushMessage', { origin: new URL(all.base).origin, registrationId, data });
}

const shown = (page) => page.evaluate(async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration.getNotifications()).map(({ title, body, tag }) => ({ title, body, tag }));
});

const switched = (page) => page.getByRole('switch', { name: 'Tell me when a task finishes' });
const isOn = (page, on) => page.locator(`[role=switch][aria-checked=${on}]`).waitFor();

async function visit(t, permissions = ['notifications']) {
  const own = await all.visit(t);
  const state = await withService(own.context);
  await own.context.grantPermissions(permissions, { origin: new URL(all.base).origin });
  await own.page.reload();
  await own.page.evaluate(() => navigator.serviceWorker.ready);
  return { ...own, state };
}

test('a browser that is asked to is told once a task is over, shows it without a word of what it was, and leads there', async (t) => {
  const { page, context, state, check } = await visit(t);
  await ask(page, 'Hello');
  await at(page).answer.first().waitFor();
  await page.goto(`${all.base}/tasks`);
  await isOn(page, false);
  await switched(page).click();
  await isOn(page, true);
  assert.equal(state.key.length, 87);
  await page.reload();
  await isOn(page, true);
  await page.goto(`${all.base}/`);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await at(page).badge.getByText('Completed').waitFor();
  const said = await service.nth(1);
  const { task, waits, ...more } = JSON.parse(said);
  assert.deepEqual([waits, more], [false, {}]);
  const push = await pusher(context, page);
  // Whoever sees the page sees that it is over.
  await push(said);
  await page.waitForTimeout(500);
  assert.deepEqual(await shown(page), []);
  // Nobody sees it.
  await page.goto('about:blank');
  for (const told of [said, JSON.stringify({ task, waits: true }), 'rubbish', '']) await push(told);
  const other = await context.newPage();
  await other.goto(`${all.base}/accounts`);
  await other.waitForFunction(async () => (await (await navigator.serviceWorker.getRegistration()).getNotifications()).length === 2);
  const notes = await shown(other);
  assert.deepEqual(notes.find(({ tag }) => tag === task), { title: 'A task waits for you', body: '', tag: task });
  assert.deepEqual(notes.find(({ tag }) => tag !== task), { title: 'A task finished', body: '', tag: '' });
  // A click leads to the task in the tab that is there.
  const [worker] = context.serviceWorkers();
  await worker.evaluate(async (tag) => {
    const [notification] = await self.registration.getNotifications({ tag });
    self.dispatchEvent(new NotificationEvent('notificationclick', { notification }));
  }, task);
  await other.waitForURL(`${all.base}/tasks/${task}`);
  await other.getByRole('complementary', { name: 'Task' }).getByText('Completed').first().waitFor();
  await other.waitForFunction(async () => (await (await navigator.serviceWorker.getRegistration()).getNotifications()).length === 1);
  // Off again.
  await other.goto(`${all.base}/tasks`);
  await switched(other).click();
  await isOn(other, false);
  assert.equal(state.key, null);
  await other.goto(`${all.base}/`);
  await ask(other, 'Will it rain in Rome tomorrow?');
  await at(other).badge.getByText('Completed').waitFor();
  await other.waitForTimeout(1_000);
  assert.equal(service.sent.length, 1);
  check();
});

test('whoever comes next in a browser is told nothing of who was there before', async (t) => {
  const { page, state, check } = await visit(t);
  await signIn(page, all.system, 'ada');
  await page.goto(`${all.base}/tasks`);
  await switched(page).click();
  await isOn(page, true);
  // A session that merely ended leaves the subscription; somebody else does not.
  await page.context().clearCookies();
  await page.goto(`${all.base}/`);
  await signIn(page, all.system, 'alan');
  await page.waitForFunction(async () => (await window.subscribed()) === null);
  await page.goto(`${all.base}/tasks`);
  await isOn(page, false);
  await switched(page).click();
  await isOn(page, true);
  // Who signs out has none.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/\/logout\?/);
  assert.equal(state.key, null);
  check();
});

test('a browser that forbids it says so, and every state is for everybody', async (t) => {
  const { page, context, check } = await visit(t, []);
  await page.goto(`${all.base}/tasks`);
  await page.getByText('Notifications are blocked here').waitFor();
  assert(await switched(page).isDisabled());
  assert.deepEqual(await faults(page), []);
  await context.grantPermissions(['notifications'], { origin: new URL(all.base).origin });
  await page.goto(`${all.base}/`);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await at(page).badge.getByText('Completed').waitFor();
  await page.goto(`${all.base}/tasks`);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const on of [true, false]) {
        await switched(page).focus();
        await page.keyboard.press('Space');
        await isOn(page, on);
        assert.deepEqual(await faults(page), [], `${width} ${colorScheme} ${on}`);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/push-${width}-${colorScheme}-${on}.png` });
      }
    }
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: no sideways scroll`);
  }
  check();
});
