// Every state of the page, in light and dark, wide and narrow: axe finds nothing serious, nothing scrolls sideways, and all of it
// is reached by the keyboard.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, at, faults, launch, System, visitor } from './harness.mjs';

let system, browser;
before(async () => {
  system = await System.start('--plan-approval', 'always');
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 780 } };
const least = { width: 320, height: 640 };

/** The chats that the states are looked at in; made once. */
async function prepare(page) {
  const base = system.base('acme');
  const chat = async (text, until) => {
    await page.goto(`${base}/`);
    await ask(page, text);
    await page.getByText(until).first().waitFor({ timeout: 60_000 });
    return new URL(page.url()).pathname.slice(new URL(base).pathname.length);
  };
  const weather = await chat('What will the weather be like in Oslo and Bergen over the next five days?', 'Completed');
  const report = await chat('Write a report about whales', 'Completed');
  const consent = await chat('Where is my order 1001?', 'Needs your consent');
  const question = await chat('weather in Springfield', 'Needs your answer');
  const plan = await chat('Weather in Oslo tomorrow, then write a report on it', 'after step 1');
  const task = async (path) => {
    await page.goto(`${base}${path}`);
    return (await at(page).card.first().getByRole('link').first().getAttribute('href')).split('/').at(-1);
  };
  return { weather, report, consent, question, plan, task: await task(weather), reported: await task(report) };
}

test('every state, in both schemes and all widths', { timeout: 280_000 }, async (t) => {
  const first = await visitor(browser);
  const page = await first.context.newPage();
  page.setDefaultTimeout(30_000);
  const made = await prepare(page);
  const state = await first.context.storageState();
  await first.context.close();
  const views = {
    empty: ['/', '.welcome'], weather: [made.weather, '.message-tools'], report: [made.report, '.markdown h3'], consent: [made.consent, '.consent'], question: [made.question, '.card'],
    result: [`${made.weather}/tasks/${made.task}`, '.forecast'], markdown: [`${made.report}/tasks/${made.reported}`, '.artifact'],
    timeline: [`/tasks/${made.task}`, '.panel .tabs', (own) => own.getByRole('tab', { name: 'Timeline' }).click()],
    raw: [`/tasks/${made.task}`, '.panel .tabs', async (own) => {
      await own.getByRole('tab', { name: 'Raw' }).click();
      await own.getByText('As A2A requests (curl)').click();
      await own.locator('.wire pre').first().waitFor();
    }],
    connected: ['/accounts', '.page h1', async (own) => {
      const connection = { id: 'idp', provider: 'idp', account: 'ada', scopes: ['orders:read', 'odd:scope'], allows: [{ name: 'orders:read', words: 'See your orders' }, { name: 'odd:scope', words: null }], agent: 'Horizon', agents: 1, connectedAt: '2026-11-24T14:05:00.000Z', lastUsedAt: null };
      await own.route(/\/api\/connections/, (route) => route.fulfill({ json: { connections: [connection], unasked: [] } }));
      await own.reload();
      await own.getByText('See your orders').waitFor();
      await own.getByRole('heading', { name: 'Horizon · Your Switchyard account · ada' }).waitFor();
      // A scope that has words of ours is shown by these alone.
      assert.equal(await own.getByText('orders:read').count(), 0);
      await own.unroute(/\/api\/connections/);
    }],
    tasks: ['/tasks', '.rows li'], accounts: ['/accounts', '.page h1'], gone: ['/chats/none', '.empty'], goneTask: ['/tasks/none', '.panel .empty'],
    written: ['/', '.welcome', (own) => at(own).prompt.fill('A draft')],
    plan: [made.plan, '.steps'], waiting: ['/tasks?show=waiting', '.rows li'], none: ['/tasks?show=running', '.filters'],
    past: [`/tasks/${made.task}`, '.panel .tabs', async (own) => {
      await own.getByRole('tab', { name: 'Timeline' }).click();
      await own.getByRole('slider').press('Home');
      await own.locator('.past').waitFor();
    }],
    failed: ['/accounts', '.page h1', async (own) => {
      await own.route(/\/api\/connections/, (route) => route.fulfill({ status: 403, json: { error: 'no', message: 'Not today.' } }));
      await own.reload();
      await own.getByText('Not today.').waitFor();
      await own.unroute(/\/api\/connections/);
    }],
    unsent: [made.weather, '.message-tools', async (own) => {
      await own.route(/\/api\/chat$/, (route) => route.abort('internetdisconnected'));
      await ask(own, 'Will it rain in Rome tomorrow?');
      await own.getByText('Not sent yet').waitFor();
    }, async (own) => {
      await own.getByRole('button', { name: 'Discard' }).click();
      await own.unroute(/\/api\/chat$/);
    }],
  };
  /** Each view once: what axe finds, and that nothing scrolls sideways, on a phone also where it is as narrow as can be. */
  const look = async (colorScheme, size) => {
    const { context, expect, check } = await visitor(browser, { viewport: sizes[size], colorScheme, storageState: state });
    expect(/404|403|ERR_INTERNET_DISCONNECTED|Failed to load/);
    const own = await context.newPage();
    const fits = async (name, width) => {
      // What is drawn anew for another width takes a frame or two.
      const isWithin = () => own.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll('.place li')].every((day) => day.scrollWidth <= day.clientWidth), null, { timeout: 2000 });
      await isWithin().catch(() => assert.fail(`${name} scrolls sideways, or a day of its forecast is cut off (${width})`));
    };
    for (const [name, [path, sign, act, undo]] of Object.entries(views)) {
      await own.goto(`${system.base('acme')}${path}`);
      await own.locator(sign).first().waitFor();
      await act?.(own);
      await fits(name, size);
      // Of what width the letters are, the machine says: also where they are wide.
      const letters = (font) => own.evaluate((font) => { document.documentElement.style.fontFamily = font; }, font);
      await letters('monospace');
      await fits(name, `${size}, wide letters`);
      await letters('');
      assert.deepEqual(await faults(own), [], `${name}, ${size}, ${colorScheme}`);
      if (size === 'narrow') {
        await own.setViewportSize(least);
        await fits(name, 'least');
        await own.setViewportSize(sizes.narrow);
      }
      await undo?.(own);
    }
    if (size === 'narrow') {
      await own.getByRole('button', { name: 'Menu' }).click();
      assert.deepEqual(await faults(own), [], `menu, ${colorScheme}`);
    }
    check();
    await context.close();
  };
  for (const size of Object.keys(sizes)) await Promise.all(['light', 'dark'].map((colorScheme) => look(colorScheme, size)));
});

/** A browser on a machine that has every font but Noto's. */
async function withoutNoto(t) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-fonts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'fonts.conf');
  writeFileSync(file, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
    <include>/etc/fonts/fonts.conf</include><cachedir>${folder}</cachedir>
    <selectfont><rejectfont><glob>*Noto*</glob></rejectfont></selectfont></fontconfig>`);
  const own = await launch({ FONTCONFIG_FILE: file });
  t.after(() => own.close());
  return own;
}

test('where the machine has no Noto fonts, no column is cut off or stands out of its rule', async (t) => {
  const { context, check } = await visitor(await withoutNoto(t));
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${system.base('acme')}/`);
  const isHidden = () => page.evaluate(() => {
    const drawing = document.createElement('canvas').getContext('2d');
    const [without, asked] = ['monospace', '"Noto Sans", monospace'].map((family) => {
      drawing.font = `100px ${family}`;
      return drawing.measureText('Width').width;
    });
    return without > 0 && without === asked;
  });
  assert(await isHidden(), 'Noto is there all the same');
  /** What stands out of the row or the card that it is in. */
  const out = () => page.evaluate(() => [...document.querySelectorAll('.card .place li, .card td, .card th')].flatMap((row) => {
    const { left, right } = row.getBoundingClientRect();
    // What a narrow page leaves out has no width.
    const own = [...row.children].map((cell) => [cell.getBoundingClientRect(), cell]).filter(([at]) => at.width > 1);
    const isOut = ([at, cell]) => at.left < left - 0.5 || at.right > right + 0.5 || (cell.clientWidth > 0 && cell.scrollWidth > cell.clientWidth + 1);
    return [...own.filter(isOut).map(([, cell]) => cell.textContent), ...(row.scrollWidth > row.clientWidth + 1 ? [row.textContent] : [])];
  }));
  for (const [text, rows] of [['What will the weather be like in Oslo and Bergen over the next five days?', '.card .place li'], ['Find a flat in Oslo for two from Friday to Sunday', '.card td']]) {
    await page.goto(`${system.base('acme')}/`);
    await ask(page, text);
    await page.locator(rows).first().waitFor();
    for (const size of [...Object.values(sizes), least]) {
      await page.setViewportSize(size);
      await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
      assert.deepEqual(await out(), [], `${text} at ${size.width}`);
    }
    const days = await page.locator('.card .day').evaluateAll((all) => all.map((day) => day.getClientRects().length));
    assert(days.every((lines) => lines === 1), 'a day is in one line');
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/no-noto-${rows.length}.png` });
  }
  check();
});

test('the keyboard alone: from the prompt to the result and back', async (t) => {
  const { context, check } = await visitor(browser);
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${system.base('acme')}/`);
  await at(page).prompt.waitFor();
  await page.keyboard.type('Will it rain in Oslo tomorrow?');
  await page.keyboard.press('Enter');
  await at(page).badge.getByText('Completed').waitFor();
  const to = async (matches) => {
    for (let steps = 0; steps < 40; steps += 1) {
      await page.keyboard.press('Shift+Tab');
      if (await page.evaluate(matches)) return;
    }
    assert.fail(`never reached: ${matches}`);
  };
  await to(() => document.activeElement?.classList.contains('card-name'));
  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByRole('heading', { name: 'Oslo' }).waitFor();
  await panel.getByRole('tab', { name: 'Result' }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await panel.getByRole('tab', { name: 'Timeline' }).getAttribute('aria-selected'), 'true');
  await to(() => document.activeElement?.getAttribute('aria-label') === 'Close');
  await page.keyboard.press('Enter');
  await panel.waitFor({ state: 'detached' });
  check();
});
