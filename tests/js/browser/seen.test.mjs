// What a user sees at once: whom there is to ask, what is asked of them, files, and the beginning of a long chat.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, at, faults, launch, System, visitor } from './harness.mjs';

let system, browser, base;
before(async () => {
  system = await System.start();
  base = system.base('acme');
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

async function visit(t, options) {
  const own = await visitor(browser, options);
  t.after(() => own.context.close());
  const page = await own.context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${base}/`);
  return { ...own, page, ...at(page) };
}

test('an empty chat offers what the agents here name as examples, and one of them is asked', async (t) => {
  const { page, badge, mine, check } = await visit(t);
  const examples = page.getByRole('list', { name: 'Try one of these' }).getByRole('button');
  await examples.first().waitFor();
  const names = await examples.locator('strong').allInnerTexts();
  for (const name of ['Weather', 'Horizon']) assert(names.some((one) => one.includes(name)), names.join());
  const listed = await page.evaluate(async () => (await fetch('api/models')).json());
  const texts = await examples.locator('span').allInnerTexts();
  for (const text of texts) assert(listed.models.some(({ examples: [first] }) => first === text), text);
  await examples.filter({ hasText: /Weather/ }).first().click();
  await badge.getByText('Completed').waitFor();
  assert.equal(await mine.count(), 1);
  check();
});

test('whom a message is for is chosen beside it, and the chat goes on with that agent', async (t) => {
  const { page, card, badge, check } = await visit(t, { viewport: { width: 390, height: 780 } });
  const whom = page.getByLabel('Ask this agent');
  await whom.selectOption('report');
  await ask(page, 'Oslo');
  await page.getByText('For Report').waitFor();
  await card.getByRole('link', { name: /Report/ }).waitFor();
  assert.equal(await whom.inputValue(), 'report');
  await page.reload();
  await page.getByText('For Report').waitFor();
  await page.waitForFunction(() => document.querySelector('.for-agent select')?.value === 'report');
  await card.getByRole('button', { name: 'Cancel' }).click();
  await badge.getByText('Canceled').waitFor();
  await whom.selectOption('host');
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await card.getByRole('link', { name: /Weather/ }).waitFor();
  check();
});

test('what one agent has answered is asked of another', async (t) => {
  const { page, card, badge, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const others = card.getByLabel('Try again with another agent');
  assert.equal(await others.locator('option', { hasText: 'Weather' }).count(), 0, 'the one that has answered is none of them');
  await others.selectOption('report');
  await card.getByRole('link', { name: /Report/ }).waitFor();
  check();
});

test('what is agreed to stands on the card in plain words', async (t) => {
  const { page, card, check } = await visit(t);
  await ask(page, 'Where is my order 1001?');
  await card.getByText('Horizon asks for your consent to:').waitFor();
  await card.getByText('See your orders').waitFor();
  assert.equal(await card.getByText('orders:read').count(), 0);
  await card.getByText(/The link works until/).waitFor();
  check();
});

test('a question stands once, with its choices, and a task that goes on has one card', async (t) => {
  const { page, log, card, badge, check } = await visit(t);
  await ask(page, 'weather in Springfield');
  await badge.getByText('Needs your answer').waitFor();
  const times = async () => (await log.innerText()).split('Illinois').length - 1;
  assert.equal(await times(), 1, await log.innerText());
  await page.reload();
  await badge.getByText('Needs your answer').waitFor();
  assert.equal(await times(), 1, await log.innerText());
  await ask(page, 'the one in Illinois');
  await badge.getByText('Completed').waitFor();
  await card.getByText('continues below').waitFor();
  assert.equal(await badge.count(), 1);
  check();
});

/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

test('files of an answer are there to be kept, and pictures are seen, by what their bytes are', async (t) => {
  const { page, context, card, badge, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const text = (one) => Buffer.from(one);
  const files = [
    ['sky.png', 'image/png', Buffer.from(PIXEL, 'base64')],
    ['not-a-picture.png', 'image/png', text('<svg onload="window.hit=1">')],
    ['\u202Egnp.svg', 'image/svg+xml', text('<svg xmlns="http://www.w3.org/2000/svg" onload="window.hit=1"/>')],
    ['broken.png', 'image/png', text('?')],
  ];
  await context.route(/\/api\/tasks\/[\w-]+$/, async (route) => {
    const response = await route.fetch();
    const task = await response.json();
    const parts = files.map(([filename, mediaType, bytes], number) => ({ filename, mediaType, bytes: bytes.length, url: `${base}/api/tasks/${task.id}/files/${number}.0` }));
    const artifacts = parts.map((part, number) => ({ artifactId: String(number), name: null, description: null, parts: [part] }));
    await route.fulfill({ response, json: { ...task, artifacts } });
  });
  await context.route(/\/api\/tasks\/[\w-]+\/files\/[\d.]+$/, (route) => {
    const [, contentType, body] = files[Number(/(\d+)\.0$/.exec(route.request().url())[1])];
    return route.fulfill({ contentType, body });
  });
  await page.reload();
  const picture = card.getByRole('img', { name: 'sky.png' });
  await picture.waitFor();
  assert.equal(await picture.evaluate((one) => one.naturalWidth), 1);
  assert.equal(await page.locator('#page img').count(), 1);
  await card.getByText('broken.png').waitFor();
  const [kept] = await Promise.all([page.waitForEvent('download'), card.getByRole('link', { name: /gnp.svg/ }).click()]);
  assert.equal(kept.suggestedFilename(), 'gnp.svg');
  assert.equal(await page.evaluate(() => window.hit), undefined);
  check();
});

test('a change of state is said once to those who hear the page, also where two tasks say the same', async (t) => {
  const { page, badge, check } = await visit(t);
  await page.locator('p.unseen[role=status]').waitFor({ state: 'attached' });
  await page.evaluate(() => {
    window.heard = [];
    const region = document.querySelector('p.unseen[role=status]');
    new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((node) => window.heard.push(node.textContent)))).observe(region, { childList: true, subtree: true });
  });
  for (const [number, place] of ['Oslo', 'Bergen'].entries()) {
    await ask(page, `Will it rain in ${place} tomorrow?`);
    await badge.nth(number).getByText('Completed').waitFor();
    await page.waitForFunction((least) => window.heard.filter((text) => /Completed/.test(text)).length >= least, number + 1);
  }
  await page.waitForTimeout(500);
  const heard = await page.evaluate(() => window.heard);
  assert.equal(heard.filter((text) => /Completed/.test(text)).length, 2, heard.join('\n'));
  check();
});

test('who wants less motion sees none', async (t) => {
  for (const [reducedMotion, moves] of [['no-preference', true], ['reduce', false]]) {
    const { page, badge, check } = await visit(t, { reducedMotion });
    await ask(page, 'Write a report about rest');
    await badge.getByText('Working').waitFor();
    const all = await page.evaluate(() => document.getAnimations({ subtree: true }).length + [...document.querySelectorAll('*')].filter((one) => getComputedStyle(one).animationName !== 'none').length);
    assert.equal(all > 0, moves, `${reducedMotion}: ${all}`);
    check();
  }
});

test('a long text is folded until somebody wants all of it, what the chat cuts is there, and code has its language', async (t) => {
  const { page, context, answer, log, badge, check } = await visit(t, { permissions: ['clipboard-read', 'clipboard-write'] });
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const long = `The very beginning\n\n- [x] done\n\n| a |\n|---|\n| 1 |\n\n> quoted\n\n\`\`\`python\nwhy = "because"\n\`\`\`\n\n${'words and more words\n\n'.repeat(2000)}the very end`;
  await context.route(/\/messages\?/, async (route) => {
    const response = await route.fetch();
    const read = await response.json();
    for (const { role, parts } of read.messages) if (role === 'assistant') for (const part of parts) if (part.type === 'text') part.text = `${long.slice(0, 8000).trim()} …`;
    await route.fulfill({ response, json: read });
  });
  await context.route(/\/api\/tasks\/[\w-]+$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), artifacts: [{ artifactId: 'a', parts: [{ text: long }] }] } });
  });
  await page.reload();
  const all = answer.getByRole('button', { name: /^Show all \(44/ });
  await all.waitFor();
  // Whoever has just asked reads from the beginning.
  const begins = await answer.getByText('The very beginning').evaluate((one) => one.getBoundingClientRect().top);
  assert(begins > 0 && begins < 700, `the beginning is at ${begins}`);
  assert.equal(await answer.locator('li:has(> input[type=checkbox])').evaluate((item) => getComputedStyle(item).listStyleType), 'none', 'a box has no bullet');
  const apart = await answer.locator('blockquote').evaluate((quote) => quote.getBoundingClientRect().top - quote.previousElementSibling.getBoundingClientRect().bottom);
  assert(apart >= 8, `a quote is ${apart} px from the table`);
  const code = answer.locator('.code');
  await code.getByText('python', { exact: true }).waitFor();
  await code.locator('.hljs-string').getByText('"because"').waitFor();
  // Nothing says when the browser has written it, so what was there before is taken away first.
  const copied = async (button) => {
    await page.evaluate(() => navigator.clipboard.writeText('-'));
    await button.click();
    return (await page.waitForFunction(() => navigator.clipboard.readText().then((text) => text !== '-' && text))).jsonValue();
  };
  assert.equal(await copied(code.getByRole('button', { name: 'Copy' })), 'why = "because"');
  assert.equal(await answer.getByText('the very end').count(), 0);
  assert.equal(await copied(answer.locator('.message-tools').getByRole('button', { name: 'Copy' })), long);
  await all.click();
  await answer.getByText('the very end').waitFor();
  check();
});

test('the keyboard goes anywhere, and the last message is written anew in its place', async (t) => {
  const { page, prompt, mine, answer, card, badge, check } = await visit(t);
  const bar = page.getByRole('dialog', { name: /^Go to/ });
  const go = async (letters) => {
    await page.keyboard.press('Control+k');
    await bar.getByRole('combobox').fill(letters);
    await bar.getByRole('option', { selected: true }).waitFor();
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/bar.png` });
    assert.deepEqual(await faults(page), []);
    await page.keyboard.press('Enter');
    await bar.waitFor({ state: 'detached' });
  };
  await prompt.waitFor();
  await go('connected');
  await page.getByRole('heading', { name: 'Connected accounts' }).waitFor();
  await go('weather');
  await page.waitForFunction(() => document.querySelector('.for-agent select')?.value === 'weather');
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();

  await prompt.press('ArrowUp');
  await page.getByText('Your message is sent anew in its place').waitFor();
  assert.equal(await prompt.inputValue(), 'Will it rain in Oslo tomorrow?');
  await prompt.press('Escape');
  assert.equal(await prompt.inputValue(), '');
  await mine.getByRole('button', { name: 'Edit' }).click();
  await prompt.fill('Will it rain in Bergen tomorrow?');
  await prompt.press('Enter');
  await answer.getByText(/Bergen/).first().waitFor();
  await badge.getByText('Completed').waitFor();
  for (const again of [false, true]) {
    if (again) await page.reload();
    await answer.getByText(/Bergen/).first().waitFor();
    assert.deepEqual([await mine.count(), await card.count()], [1, 1]);
    assert.match(await mine.innerText(), /Bergen/);
  }

  await card.getByRole('link', { name: /Weather/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  await panel.getByRole('tab', { name: 'Result' }).waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await page.locator('h1').first().click({ force: true });
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('/');
  assert(await prompt.evaluate((box) => box === document.activeElement && box.value === ''));
  check();
});

test('what ends out of sight is told, and leads there; what ends while nobody looks stands in the title', async (t) => {
  const { page, card, badge, check } = await visit(t, { viewport: { width: 1280, height: 500 } });
  await ask(page, 'Write a report about whales');
  await badge.getByText('Working').waitFor();
  for (const [number, place] of ['Oslo', 'Rome', 'Lima'].entries()) {
    await ask(page, `Will it rain in ${place} tomorrow?`);
    await badge.nth(number + 1).getByText('Completed').waitFor();
  }
  const pill = page.getByRole('button', { name: 'Reports finished' });
  await pill.click({ timeout: 60_000 });
  await page.waitForFunction(() => document.querySelector('.card')?.getBoundingClientRect().bottom > 80);
  await pill.waitFor({ state: 'detached' });
  assert.equal(await page.title().then((title) => title.includes('✓')), false);

  await ask(page, 'Write a report about foxes');
  await badge.getByText('Working').waitFor();
  const show = (state) => page.evaluate((state) => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);
  await show('hidden');
  // Another tab looks meanwhile, and tells this one.
  const other = await page.context().newPage();
  await other.goto(`${base}/tasks`);
  await page.waitForFunction(() => /✓ Reports finished/.test(document.title), null, { timeout: 60_000 });
  assert.match(await page.evaluate(() => document.querySelector('link[rel=icon]').href), /circle/);
  await show('visible');
  await page.waitForFunction(() => !/✓/.test(document.title));
  assert.equal(await page.evaluate(() => /circle/.test(document.querySelector('link[rel=icon]').href)), false);
  await card.last().waitFor();
  check();
});

test('a long chat is read page by page, and what one reads stays where it is', async (t) => {
  const { page, log, mine, check } = await visit(t);
  const said = 65;
  await page.evaluate(async (said) => {
    for (let number = 0; number < said; number += 1) {
      const message = { id: `m-${number}`, role: 'user', parts: [{ type: 'text', text: `hello ${number}` }] };
      const answer = await fetch('api/chat', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'long', message }) });
      await answer.text();
    }
  }, said);
  await page.goto(`${base}/chats/long`);
  await mine.getByText('hello 64', { exact: true }).waitFor();
  assert.equal(await mine.count(), 50);
  const place = () => mine.getByText('hello 16', { exact: true }).evaluate((one) => Math.round(one.getBoundingClientRect().top));
  // Slowly upwards, as a reader does, until the earlier ones are there.
  await mine.getByText('hello 16', { exact: true }).scrollIntoViewIfNeeded();
  for (let steps = 0; steps < 40 && (await mine.count()) < said; steps += 1) {
    await page.waitForTimeout(100);
  }
  assert.equal(await mine.count(), said);
  const top = await place();
  assert(top > 0 && top < 800, `what was read is at ${top}`);
  await log.evaluate((box) => box.scrollTo({ top: 0 }));
  // What is far from the eye has no inner text: it is not drawn.
  const all = await mine.allTextContents();
  assert.deepEqual(all, Array.from({ length: said }, (_, number) => `hello ${number}`));
  assert.equal(await page.getByRole('button', { name: 'Earlier messages' }).count(), 0);
  check();
});

test('what a user thinks of an answer stays with it, and can be taken back', async (t) => {
  const { page, answer, badge, expect, context, check } = await visit(t);
  await ask(page, 'Will it rain in Oslo tomorrow?');
  await badge.getByText('Completed').waitFor();
  const helped = answer.getByRole('button', { name: 'This helped' });
  const helpedNot = answer.getByRole('button', { name: 'This did not help' });
  const told = () => page.waitForResponse((response) => response.request().method() === 'PUT' && response.status() === 204);
  await Promise.all([told(), helped.click()]);
  await Promise.all([told(), helpedNot.click()]);
  await page.reload();
  await helpedNot.and(page.locator('[aria-pressed=true]')).waitFor();
  assert.equal(await helped.getAttribute('aria-pressed'), 'false');
  await Promise.all([told(), helpedNot.press('Enter')]);
  await page.reload();
  await helpedNot.and(page.locator('[aria-pressed=false]')).waitFor();
  // What the server does not take is not shown as if it had.
  expect(/503/);
  await context.route(/\/feedback\//, (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":"unavailable","message":"Not now."}' }));
  await helped.click();
  await answer.getByText('Not now.').waitFor();
  assert.equal(await helped.getAttribute('aria-pressed'), 'false');
  check();
});

test('the page speaks the language of its browser, of its address, or the one that is chosen', async (t) => {
  const { page, check } = await visit(t, { locale: 'ja-JP', viewport: { width: 320, height: 700 } });
  const speaks = async (language, hello) => {
    await page.getByRole('heading', { name: hello }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), language);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${language} fits into 320 px`);
    assert.deepEqual(await faults(page), [], language);
  };
  await speaks('ja', '何をお手伝いしましょうか？');
  await page.goto(`${base}/?lang=de`);
  await speaks('de', 'Was kann ich für Sie tun?');
  await page.goto(`${base}/`);
  await speaks('de', 'Was kann ich für Sie tun?');
  await page.getByRole('textbox', { name: 'Ihre Nachricht' }).fill('Will it rain in Oslo tomorrow?');
  await page.getByRole('textbox', { name: 'Ihre Nachricht' }).press('Enter');
  await page.getByText('Fertig', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Menü' }).click();
  await page.getByLabel('Sprache').selectOption('fr');
  await page.getByRole('region', { name: /^Tâche/ }).waitFor();
  await page.getByText('Terminée', { exact: true }).waitFor();
  await page.goto(`${base}/?lang=constructor`);
  await speaks('fr', 'Que puis-je faire pour vous ?');
  check();
});
