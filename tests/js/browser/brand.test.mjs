// A tenant's own name, colours and logo on its page, by the command that sets them; and that a logo runs nothing.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { at, ask, shared, visitor } from './harness.mjs';

const run = promisify(execFile);
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="11" fill="#7a1f5c"/><path d="M7 17 12 6l5 11" fill="none" stroke="#fff" stroke-width="2.5"/></svg>';

const all = shared();

const file = (name, text) => {
  const path = join(all.system.folder, name);
  writeFileSync(path, text);
  return path;
};
const brand = (...more) => run(all.system.program, ['tenant', 'brand', 'acme', '--data', all.system.folder, ...more]);

test('a page has the name, the colours and the logo of its tenant', async (t) => {
  const { stdout } = await brand('--name', 'Acme Help', '--accent', '#7a1f5c', '--logo', file('logo.svg', SVG));
  assert.match(stdout, /brand=Acme Help/);
  assert.match((await brand()).stdout, /accent: #7a1f5c\naccentDark: not set\nlogo: stored/);
  for (const [colorScheme, accent] of [['light', 'rgb(122, 31, 92)'], ['dark', null]]) {
    const own = await visitor(all.browser, { colorScheme });
    t.after(() => own.context.close());
    const page = await own.context.newPage();
    // What a process read of its tenant is good for ten seconds.
    for (let round = 0; round < 24; round += 1) {
      await page.goto(`${all.base}/`);
      if ((await page.title()).startsWith('Acme Help')) break;
      await page.waitForTimeout(500);
    }
    await page.locator('.sidebar .brand').getByText('Acme Help').waitFor();
    const drawn = await page.locator('.sidebar .mark').evaluate((image) => image.decode().then(() => image.naturalWidth));
    assert(drawn > 0, 'the logo is drawn');
    await ask(page, 'Will it rain in Oslo tomorrow?');
    await at(page).badge.getByText('Completed').waitFor();
    const manifest = await page.evaluate(async () => (await fetch(document.querySelector('link[rel=manifest]').href)).json());
    assert.deepEqual([manifest.name, manifest.theme_color, manifest.icons[0].src.split('=')[0]], ['Acme Help', '#7a1f5c', 'logo?v']);
    const button = page.getByRole('button', { name: 'Send' });
    const [shown, contrast] = await button.evaluate((element) => {
      const style = getComputedStyle(element);
      const numbers = (text) => text.match(/[\d.]+/g).slice(0, 3).map((value) => {
        const linear = Number(value) / 255;
        return linear <= 0.04045 ? linear / 12.92 : ((linear + 0.055) / 1.055) ** 2.4;
      });
      const light = (text) => numbers(text).reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0.05);
      const [one, two] = [light(style.backgroundColor), light(style.color)].sort((a, b) => b - a);
      return [style.backgroundColor, one / two];
    });
    if (accent) assert.equal(shown, accent);
    assert(contrast >= 4.5, `${colorScheme}: ${shown} has ${contrast}`);
    if (process.env.SHOTS) {
      mkdirSync(process.env.SHOTS, { recursive: true });
      await page.screenshot({ path: join(process.env.SHOTS, `brand-${colorScheme}.png`) });
    }
    own.check();
  }
});

test('the pages to sign in and to consent have them too', async (t) => {
  const { page, expect, check } = await all.visit(t);
  expect(/400 \(Bad Request\).*\/callback$/);
  const accent = (element) => getComputedStyle(element).backgroundColor;
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.locator('.brand').getByText('Acme Help').waitFor();
  assert.match(await page.title(), / · Acme Help$/);
  assert.equal(await page.locator('[value=login]').evaluate(accent), 'rgb(122, 31, 92)');
  // One look, wherever a page stands by itself.
  const look = () => page.evaluate(() => {
    const [ground, sheet, brand, title] = ['body', 'main', '.brand', 'h1'].map((part) => getComputedStyle(document.querySelector(part)));
    return [ground.fontFamily, sheet.backgroundColor, sheet.borderRadius, sheet.borderTopColor, sheet.boxShadow, brand.color, brand.fontSize, brand.fontWeight, title.fontSize, title.lineHeight];
  });
  const ours = await look();
  // A page of the callback's: what arrives is no answer.
  await page.goto(`${all.base}/callback`).catch(() => {});
  await page.locator('.brand').getByText('Acme Help').waitFor();
  const drawn = await page.locator('.brand img').evaluate((image) => image.decode().then(() => image.naturalWidth));
  assert(drawn > 0, 'the logo is drawn');
  assert.deepEqual(await look(), ours, 'the callback');
  expect(/404 .*\/share\//);
  await page.goto(`${all.base}/share/nothing`).catch(() => {});
  await page.getByRole('heading', { name: 'Nothing is shared here' }).waitFor();
  assert.deepEqual(await look(), ours, 'what is shared');
  check();
});

test('what cannot be read, or could run, is refused, and nothing is changed', async () => {
  const before = (await brand()).stdout;
  for (const [wrong, words] of [
    [['--accent', '#ffcc00'], /contrast of 1\.3:1 on the page's light surfaces/],
    [['--accent-dark', '#400020'], /dark surfaces/],
    [['--name', 'A\u202eB'], /visible characters/],
    [['--name', 'Other', '--logo', file('script.svg', SVG.replace('<circle', '<script>alert(1)</script><circle'))], /only draws: <script>/],
    [['--logo', file('link.svg', SVG.replace('<circle', '<circle onload="alert(1)"'))], /the attribute onload/],
    [['--logo', file('page.html', '<html></html>')], /PNG or an SVG/],
    [['--logo', file('large.svg', `${SVG}${' '.repeat(33_000)}`)], /at most 32768 bytes/],
    [['--logo', '/nowhere/logo.png'], /No such file/],
  ]) {
    const refused = await brand(...wrong).then(() => null, (error) => error);
    assert(refused && refused.code !== 0, `${wrong}`);
    assert.match(refused.stderr, words);
  }
  assert.equal((await brand()).stdout, before);
});

test('a logo that is opened by itself runs nothing', async (t) => {
  const own = await visitor(all.browser);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  const answer = await page.goto(`${all.base}/logo`);
  assert.equal(answer.headers()['content-type'], 'image/svg+xml');
  assert.match(answer.headers()['content-security-policy'], /default-src 'none'.*sandbox/);
  assert.equal(answer.headers()['x-content-type-options'], 'nosniff');
});

test('without a brand the page is ours again', async (t) => {
  await brand('--reset');
  const own = await visitor(all.browser);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  for (let round = 0; round < 24; round += 1) {
    await page.goto(`${all.base}/`);
    if ((await page.title()).startsWith('Switchyard')) break;
    await page.waitForTimeout(500);
  }
  await page.locator('.sidebar .brand').getByText('Switchyard').waitFor();
  assert.equal(await page.locator('.sidebar .mark').count(), 0);
  assert.equal((await own.context.request.get(`${all.base}/logo`)).status(), 404);
  own.check();
});
