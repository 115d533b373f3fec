// Pictures of the page in its states, for people to look at: `cargo run -p system_testing --bin screenshots -- FOLDER` runs it. Each is at
// most 150 KB; the README shows some of them.

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ask, at, launch, signIn, System, visitor } from './harness.mjs';

const MOST = 150 * 1024;

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error('usage: node screenshots.mjs FOLDER');
  process.exit(2);
}
mkdirSync(folder, { recursive: true });

const system = await System.start('--plan-approval', 'always');
const browser = await launch();
const base = system.base('acme');
const wide = { viewport: { width: 1200, height: 750 } };
const phone = { viewport: { width: 390, height: 780 } };

async function shoot(page, name) {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
  const { size } = statSync(path);
  assert(size <= MOST, `${name} has ${size} bytes`);
  console.log(`${name}.png ${Math.ceil(size / 1024)} KB`);
}

/** A chart and a map come after the words. */
const drawn = (page) => page.locator('.panel .drawing:not(:has(svg))').first().waitFor({ state: 'detached' });

async function begin(page, text, until) {
  await page.goto(`${base}/`);
  await ask(page, text);
  await page.getByText(until).first().waitFor({ timeout: 90_000 });
}

try {
  const first = await visitor(browser, wide);
  const page = await first.context.newPage();
  await page.goto(`${base}/`);
  await page.locator('.welcome li').first().waitFor();
  await shoot(page, 'empty');
  await begin(page, 'Where is my order 1001?', 'Needs your consent');
  await page.locator('.consent').waitFor();
  await shoot(page, 'consent');
  await begin(page, 'weather in Springfield', 'Needs your answer');
  await shoot(page, 'question');
  await begin(page, 'Weather in Oslo tomorrow, then write a report on it', 'after step 1');
  await shoot(page, 'plan');
  await begin(page, 'Write a report about whales', 'Step 2');
  await shoot(page, 'working');
  await at(page).badge.getByText('Completed').waitFor({ timeout: 90_000 });
  await page.locator('.markdown h3').first().waitFor();
  await shoot(page, 'report');
  await at(page).card.getByRole('link').first().click();
  await page.getByRole('tab', { name: 'Timeline' }).click();
  await shoot(page, 'timeline');
  for (let back = 0; back < 6; back += 1) await page.getByRole('button', { name: 'Earlier' }).click();
  await page.locator('.past').waitFor();
  await shoot(page, 'past');
  await begin(page, 'What will the weather be like in Oslo and Bergen over the next five days?', 'Completed');
  // The card grows by what it draws; a click before that may miss.
  await page.locator('.card .forecast').first().waitFor({ state: 'attached' });
  await at(page).card.getByRole('link').first().click();
  await page.locator('.panel .forecast').waitFor();
  await drawn(page);
  await shoot(page, 'forecast');
  const chat = page.url();
  await begin(page, 'Find a flat in Oslo for two from Friday to Sunday', 'Completed');
  await page.locator('.card table').first().waitFor({ state: 'attached' });
  await at(page).card.getByRole('link').first().click();
  await page.locator('.panel table').waitFor();
  await drawn(page);
  await page.locator('.log').evaluate((log) => log.scrollTo(0, 0));
  await page.locator('.to-end').waitFor();
  // As a whole it has too many words for a picture.
  await page.setViewportSize({ width: 1100, height: 620 });
  await shoot(page, 'stays');
  await page.setViewportSize(wide.viewport);
  await page.goto(`${base}/`);
  await page.locator('.welcome li').first().waitFor();
  await page.locator('input[type=file]').setInputFiles(['notes.txt', 'minutes.txt'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('What we talked about\n'.repeat(name.length * 9)) })));
  await page.getByRole('list', { name: 'Attached files' }).getByRole('listitem').nth(1).waitFor();
  await shoot(page, 'files');
  await page.goto(`${base}/tasks`);
  await page.locator('.rows li').first().waitFor();
  await shoot(page, 'tasks');
  await page.goto(`${base}/tasks?show=waiting`);
  await page.locator('.rows li').first().waitFor();
  await shoot(page, 'waiting');
  const operator = await visitor(browser, wide);
  const console_ = await operator.context.newPage();
  await console_.goto(`${base}/`);
  await signIn(console_, system, 'olga');
  await console_.getByRole('link', { name: 'Operations' }).click();
  await console_.getByText('Every notification has been delivered').waitFor();
  await console_.getByRole('region', { name: 'Unfinished tasks' }).waitFor();
  await shoot(console_, 'ops');
  await console_.getByRole('region', { name: 'Keys' }).scrollIntoViewIfNeeded();
  await shoot(console_, 'ops-tasks');
  await operator.context.close();
  const storageState = await first.context.storageState();
  await first.context.close();

  for (const [name, options] of [['dark', { ...wide, colorScheme: 'dark' }], ['phone', phone], ['phone-dark', { ...phone, colorScheme: 'dark' }]]) {
    const own = await visitor(browser, { ...options, storageState });
    const shown = await own.context.newPage();
    await shown.goto(chat);
    await shown.locator('.panel .forecast').waitFor();
    await drawn(shown);
    await shoot(shown, `${name}-forecast`);
    await shown.goto(`${base}/tasks`);
    await shown.locator('.rows li').first().waitFor();
    await shoot(shown, `${name}-tasks`);
    await own.context.close();
  }
} finally {
  await browser.close();
  await system.stop();
}
