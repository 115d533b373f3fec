// A real browser in front of a real `switchyard`. Whatever a page does that its policy forbids, every error on its console and
// every request elsewhere fails the test that did it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const root = join(import.meta.dirname, '../../..');

/** The program. */
export const switchyard = process.env.SWITCHYARD ?? join(root, 'target/debug/switchyard');

/** A `switchyard` of its own, over a folder that outlives it. */
export class System {
  #process;
  #folder = mkdtempSync(join(tmpdir(), 'switchyard-page-'));
  #more;

  static start(...more) {
    return System.as(['up', ...more]);
  }

  /** As another command starts it. */
  static async as(command) {
    const system = new System();
    system.#more = command;
    await system.up();
    return system;
  }

  get folder() {
    return this.#folder;
  }

  get program() {
    return switchyard;
  }

  async up() {
    const file = join(this.#folder, 'endpoints.json');
    rmSync(file, { force: true });
    const arguments_ = [...this.#more, '--port', String(this.port ?? 0), '--data', this.#folder];
    const started = spawn(this.program, arguments_, {
      stdio: ['ignore', 'ignore', 'inherit'],
      // What is said to the page is understood at once and everywhere alike; how well it is, is measured elsewhere.
      env: { ...process.env, SWITCHYARD_UNDERSTANDING: 'words' },
    });
    this.#process = started;
    for (let waited = 0; !existsSync(file); waited += 50) {
      assert.equal(started.exitCode, null, 'switchyard ended');
      assert(waited < 60_000, 'switchyard is not ready after a minute');
      await sleep(50);
    }
    this.endpoints = JSON.parse(readFileSync(file, 'utf8'));
    this.port = new URL(this.base('acme')).port;
  }

  base(tenant) {
    return this.endpoints.tenants[tenant].base.replace(/\/+$/, '');
  }

  /** SIGKILL: no word of warning. */
  async kill() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }

  async stop() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A way to the system that cuts every stream after a while, as a bad network does. */
export async function cutting(port, after) {
  const server = createServer((incoming, outgoing) => {
    const passed = request({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
      if ((answer.headers['content-type'] ?? '').startsWith('text/event-stream')) setTimeout(() => outgoing.destroy(), after);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, close: () => server.close() };
}

export function program() {
  const own = join(root, 'tests/.tools/chromium/usr/bin/chromium');
  return [process.env.CHROMIUM, own, '/usr/bin/chromium'].find((path) => path && existsSync(path));
}

export async function launch(env = {}) {
  const executablePath = program();
  assert(executablePath, 'there is no Chromium here: `tests/run tools` installs it');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], env: { ...process.env, ...env } });
}

/** With PAGE=dist the page is the one in `ui/dist`, so that a change of it is tried without building the program anew. */
async function fromDist(context) {
  const dist = join(root, 'functions/chat_api/ui/dist');
  const media = { js: 'text/javascript', css: 'text/css', webmanifest: 'application/manifest+json' };
  await context.route(/\/t\/[^/]+\/assets\//, (route) => {
    const asked = new URL(route.request().url()).pathname.split('/').at(-1);
    // What a redirect leads to is the program's own document, which names the files that it holds itself.
    const [stem, ending] = [asked.split('-')[0], asked.split('.').at(-1)];
    const name = readdirSync(join(dist, 'assets')).find((one) => one === asked || (one.startsWith(`${stem}-`) && one.endsWith(`.${ending}`)));
    // The page once, by whatever name: two copies of React know nothing of one another.
    const body = name !== asked && ending === 'js' ? `import './${name}';` : readFileSync(join(dist, 'assets', name));
    return route.fulfill({ body, contentType: media[name.split('.').at(-1)] });
  });
  await context.route(/\/t\/[^/]+(\/(?!api\/|assets\/|share\/|connect\/|signin|signout|callback).*)?$/, async (route) => {
    if (route.request().resourceType() !== 'document') return route.fallback();
    const response = await route.fetch();
    const tenant = new URL(route.request().url()).pathname.split('/')[2];
    const body = readFileSync(join(dist, 'index.html'), 'utf8').replaceAll('{{tenant}}', tenant).replaceAll('{{product}}', 'Switchyard').replace('{{base}}', `/t/${tenant}/`);
    return route.fulfill({ response, body });
  });
}

/**
 * A profile whose pages are watched. Without the page's service worker, unless a test is about it or asks for it: what a worker
 * hands on is neither counted nor changed by Playwright in every case.
 */
export async function visitor(browser, { worker = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'Europe/Oslo', ...options });
  if (process.env.PAGE === 'dist') await fromDist(context);
  const wrong = [];
  /** What a test does on purpose, such as taking the server away. */
  const expected = [];
  context.on('page', (page) => {
    page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) wrong.push(`console: ${message.text()} ${message.location().url ?? ''}`.trimEnd());
    });
  });
  context.on('request', (asked) => {
    const { protocol, hostname } = new URL(asked.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') wrong.push(`elsewhere: ${asked.url()}`);
  });
  if (!worker) {
    await context.addInitScript(() => {
      delete Navigator.prototype.serviceWorker;
    });
  }
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  return {
    context,
    expect: (pattern) => expected.push(pattern),
    check: () => assert.deepEqual(wrong.filter((one) => !expected.some((pattern) => pattern.test(one))), []),
  };
}

/** One of the demo's people signs in by the page's link; what they are asked of a guest's chats stays open. */
export async function enter(page, system, name) {
  const user = system.endpoints.users.acme.find(({ username }) => username === name);
  assert(user, `no ${name}`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.locator('[name=username]').fill(user.username);
  await page.locator('[name=password]').fill(user.password);
  await page.locator('[name=password]').press('Enter');
  const [allow, signedIn] = [page.locator('[value=allow]'), page.getByText('Signed in as')];
  await allow.or(signedIn).first().waitFor();
  if (await allow.count()) await allow.click();
  await signedIn.waitFor();
}

/** A demo person signs in at the provider of a consent, and agrees. */
export async function agree(page, system) {
  const [login] = system.endpoints.users.acme;
  await page.locator('[name=username]').fill(login.username);
  await page.locator('[name=password]').fill(login.password);
  await page.locator('[name=password]').press('Enter');
  // Somebody who has agreed before is not asked again.
  const [allow, connected] = [page.locator('[value=allow]'), page.getByText('You are connected')];
  await allow.or(connected).first().waitFor();
  if (await allow.count()) await allow.click();
  await connected.waitFor();
  await page.close();
}

/** The same, and leaves what a guest did here before. */
export async function signIn(page, system, name) {
  await page.addLocatorHandler(page.getByRole('dialog', { name: /^Keep the/ }), () => page.getByRole('button', { name: 'Leave them' }).click());
  await enter(page, system, name);
}

/** One system and one browser for all tests of a file, with a visit to Acme's page. What it holds is there once a test runs. */
export function shared({ up = [], ...options } = {}) {
  const all = {
    /** A page of a new visitor, closed with the test; with a name, of that person who has signed in. */
    async visit(t, name) {
      const own = await visitor(all.browser, options);
      t.after(() => own.context.close());
      const page = await own.context.newPage();
      page.setDefaultTimeout(20_000);
      await page.goto(`${all.base}/`);
      if (name) await signIn(page, all.system, name);
      return { ...own, page };
    },
  };
  before(async () => {
    [all.system, all.browser] = await Promise.all([System.start(...up), launch()]);
    all.base = all.system.base('acme');
  });
  after(async () => {
    await all.browser?.close();
    await all.system?.stop();
  });
  return all;
}

let axe;

/** What axe finds that is serious, as its rule and the places. */
export async function faults(page) {
  axe ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // By the protocol of the browser's tools, which the page's policy does not bind.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join('; ')}`);
}

/** The page's own words for its parts. */
export const at = (page) => ({
  prompt: page.getByLabel('Your message'),
  log: page.getByRole('log'),
  card: page.locator('.card'),
  answer: page.getByRole('article', { name: 'Answer' }),
  mine: page.getByRole('article', { name: 'You' }),
  badge: page.locator('.card .badge'),
});

export async function ask(page, text) {
  await at(page).prompt.fill(text);
  await at(page).prompt.press('Enter');
}
