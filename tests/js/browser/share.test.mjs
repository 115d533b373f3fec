// A finished task shared by its link: switched on, made, read by somebody without a session, hostile or not, and ended.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ask, at, faults, shared, visitor } from './harness.mjs';

const run = promisify(execFile);
const all = shared();

const HOSTILE = [
  '<script>document.title = "hit"</script>', '<img src="https://evil.example/t.png" onerror="document.title=\'hit\'">', '![x](https://evil.example/track.png)',
  '[a link](https://evil.example/)', '<a href="https://evil.example/" target="_top">go</a>', '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '</pre></main></body><iframe src="https://evil.example/"></iframe>', '<style>*{display:none}</style>', '<form action="https://evil.example/"><input autofocus onfocus="document.title=\'hit\'"></form>',
  '\u202Egnp.exe', '\u0000\u0007', '"\'`&amp;', 'x'.repeat(5000),
].join('\n');

/** An open agent whose words want to be more than words. */
let parrot;
before(async () => {
  parrot = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = `http://127.0.0.1:${parrot.address().port}/`;
    const card = {
      name: 'Parrot <b>', description: 'Repeats a word like a parrot', version: '1', capabilities: {},
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
      skills: [{ id: 'parrot', name: 'Parrot', description: 'Parrot a word', tags: ['type:parrot'], examples: ['parrot this'] }],
    };
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') return response.end(JSON.stringify(card));
    const { id, params } = JSON.parse(body);
    const task = {
      id: `remote-${params.message?.messageId ?? params.id}`, contextId: params.message?.contextId, status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', name: '<b>Words</b>', parts: [{ text: HOSTILE }, { data: { '<img src=x>': HOSTILE } }, { raw: 'aGk=', filename: '<i>.html', mediaType: 'text/html' }] }],
    };
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: params.message ? { task } : task }));
  });
  await new Promise((resolve) => parrot.listen(0, '127.0.0.1', resolve));
});
after(() => parrot?.close());

const registry = async (method, path, body) => {
  const { registry: url, registry_token: token } = all.system.endpoints;
  const answer = await fetch(`${url.replace(/\/$/, '')}${path}`, { method, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  assert(answer.ok, await answer.text());
};

const setting = (...more) => run(all.system.program, ['tenant', ...more, '--data', all.system.folder]);

/** What a process read of its tenant is good for ten seconds. */
async function until(page, seen) {
  for (let round = 0; round < 40; round += 1) {
    await page.reload();
    await page.getByRole('tab', { name: 'Result' }).waitFor();
    if (await seen()) return;
    await page.waitForTimeout(500);
  }
  assert.fail('the setting counts within twenty seconds');
}

const shot = async (page, name) => {
  if (!process.env.SHOTS) return;
  mkdirSync(process.env.SHOTS, { recursive: true });
  await page.screenshot({ path: join(process.env.SHOTS, `share-${name}.png`), fullPage: true });
};

async function done(page, text) {
  await page.goto(`${all.base}/`);
  await ask(page, text);
  await at(page).badge.getByText('Completed').waitFor({ timeout: 60_000 });
  await at(page).card.first().getByRole('link').first().click();
  await page.getByRole('tab', { name: 'Result' }).waitFor();
}

/** A link opened by somebody without a session, and by a client that follows nothing. */
async function opened(t, link, options) {
  const own = await visitor(all.browser, options);
  t.after(() => own.context.close());
  own.expect(/404/);
  const page = await own.context.newPage();
  const answer = await page.goto(link);
  return { ...own, page, answer };
}

test('a task is shared from its panel, read as text by whoever has the link, and shared no more', { timeout: 180_000 }, async (t) => {
  const { page, check } = await all.visit(t, 'alan');
  await done(page, 'Will it rain in Oslo tomorrow?');
  const button = page.getByRole('button', { name: 'Share', exact: true });
  assert.equal(await button.count(), 0, 'it is off');
  await setting('set', 'acme', 'share=on');
  await until(page, async () => (await button.count()) > 0);
  await button.click();
  const dialog = page.getByRole('dialog', { name: 'Share this answer' });
  await dialog.getByText('for 7 days').waitFor();
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = await dialog.getByLabel('Link').inputValue();
  assert.match(link, new RegExp(`^${all.base}/share/swl_[A-Za-z0-9_-]{22}$`));
  await dialog.getByText('Shared until').waitFor();
  assert.deepEqual(await faults(page), []);
  await shot(page, 'dialog');
  await page.setViewportSize({ width: 390, height: 780 });
  await page.emulateMedia({ colorScheme: 'dark' });
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert(await fits(), 'nothing scrolls sideways');
  // Colours take a moment to change.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)));
  assert.deepEqual(await faults(page), []);
  await shot(page, 'dialog-narrow');
  await page.keyboard.press('Escape');
  await button.click();
  assert.equal(await dialog.getByLabel('Link').count(), 0, 'it is shown once');

  for (const [name, options] of Object.entries({ wide: {}, narrow: { viewport: { width: 390, height: 780 }, colorScheme: 'dark' } })) {
    const other = await opened(t, link, options);
    assert.equal(other.answer.status(), 200);
    const headers = other.answer.headers();
    assert.match(headers['content-security-policy'], /^default-src 'none'; .*; sandbox$/);
    assert.deepEqual(
      ['referrer-policy', 'cache-control', 'x-robots-tag', 'x-content-type-options'].map((one) => headers[one]),
      ['no-referrer', 'no-store', 'noindex', 'nosniff'],
    );
    await other.page.getByRole('heading', { level: 1, name: 'Will it rain in Oslo tomorrow?' }).waitFor();
    await other.page.getByText('Weather', { exact: false }).first().waitFor();
    assert.deepEqual(await other.context.cookies(), [], 'nobody gets a session');
    await shot(other.page, name);
    other.check();
  }
  // At another tenant it is nothing, and neither is anything made up.
  const gone = await (await fetch(`${all.base}/share/swl_${'A'.repeat(22)}`)).text();
  const elsewhere = await fetch(link.replace('/t/acme/', '/t/globex/'));
  assert.deepEqual([elsewhere.status, await elsewhere.text()], [404, gone]);
  for (const rubbish of ['x', '%00', '..%2f', '%3Cscript%3E', 'x'.repeat(2000)]) {
    const answer = await fetch(`${all.base}/share/${rubbish}`);
    assert.deepEqual([answer.status, await answer.text()], [404, gone], rubbish);
  }
  await dialog.getByRole('button', { name: 'Stop sharing' }).click();
  await dialog.getByRole('button', { name: 'Create link' }).waitFor();
  const ended = await opened(t, link);
  assert.equal(ended.answer.status(), 404);
  await ended.page.getByRole('heading', { name: 'Nothing is shared here' }).waitFor();
  await shot(ended.page, 'ended');
  ended.check();
  check();
});

test('what an agent wrote does nothing on the page that is shared', { timeout: 180_000 }, async (t) => {
  await registry('PUT', '/types/parrot', { scope: 'global' });
  await registry('POST', '/agents', { cardUrl: `http://127.0.0.1:${parrot.address().port}/` });
  const { page } = await all.visit(t, 'olga');
  await done(page, 'parrot this: <b>word</b>');
  const dialog = page.getByRole('dialog', { name: 'Share this answer' });
  const [given, asks] = [dialog.getByLabel('Link', { exact: true }), dialog.getByRole('alert')];
  // What the host says of its agents is twenty seconds old at most: until then it is asked about a new one.
  for (const began = Date.now(); (await given.count()) === 0; ) {
    assert(Date.now() < began + 40_000, 'the new agent is known to be open');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog.getByRole('button', { name: 'Create link' }).click();
    await given.or(asks).waitFor();
    if ((await asks.count()) === 0) continue;
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.waitForTimeout(2000);
  }
  const link = await given.inputValue();
  const asked = [];
  const other = await visitor(all.browser);
  t.after(() => other.context.close());
  other.context.on('request', (request) => asked.push(request.url()));
  const shown = await other.context.newPage();
  await shown.goto(link);
  await shown.getByText('document.title = "hit"').first().waitFor();
  await shown.waitForTimeout(500);
  assert.deepEqual(asked, [link], 'nothing else is asked for');
  const html = await (await fetch(link)).text();
  const tags = new Set([...html.matchAll(/<([a-zA-Z][a-zA-Z0-9]*)/g)].map(([, tag]) => tag));
  assert.deepEqual([...tags].sort(), ['body', 'dd', 'details', 'dl', 'dt', 'h1', 'h2', 'head', 'html', 'main', 'meta', 'p', 'pre', 'style', 'summary', 'title']);
  assert.doesNotMatch(html, /[\u202a-\u202e\u2066-\u2069\u0000\u0007]/);
  assert.equal(await shown.title(), 'A shared answer · Switchyard');
  await shot(shown, 'hostile');
  other.check();
});

test('agents that asked for a sign-in are named, and a guest is told to sign in', { timeout: 180_000 }, async (t) => {
  const guest = await all.visit(t);
  await done(guest.page, 'Will it rain in Bergen tomorrow?');
  await guest.page.getByRole('button', { name: 'Share', exact: true }).click();
  await guest.page.getByText('Sign in to share').waitFor();
  assert.equal(await guest.page.getByRole('button', { name: 'Create link' }).count(), 0);
  guest.check();

  const { page, context, expect, check } = await all.visit(t, 'ada');
  await page.goto(`${all.base}/`);
  await ask(page, 'Where is my order 1001?');
  const [tab] = await Promise.all([context.waitForEvent('page'), at(page).card.getByRole('link', { name: 'Connect' }).click()]);
  await tab.locator('[value=allow]').click();
  await tab.getByText('connected', { exact: false }).first().waitFor();
  await tab.close();
  await at(page).badge.getByText('Completed').waitFor({ timeout: 60_000 });
  await at(page).card.first().getByRole('link').first().click();
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Share this answer' });
  expect(/409 .*\/share/);
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const alert = dialog.getByRole('alert');
  await alert.getByRole('listitem').getByText('Horizon').waitFor();
  assert.deepEqual(await faults(page), []);
  await shot(page, 'asks');
  await dialog.getByRole('button', { name: 'Share anyway' }).click();
  const link = await dialog.getByLabel('Link').inputValue();
  assert.equal((await fetch(link)).status, 200);
  await page.keyboard.press('Escape');

  // Whoever signs out everywhere shares nothing any more.
  await page.goto(`${all.base}/`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByText('You are a guest.').waitFor();
  assert.equal((await fetch(link)).status, 404);
  check();
});
