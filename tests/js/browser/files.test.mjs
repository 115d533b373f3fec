// Files in the chat: chosen, pasted or dropped, kept until the server has them, shown to their owner, and those that an agent brings.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { ask, at, shared } from './harness.mjs';

const all = shared({ worker: true });

/** One pixel. */
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==', 'base64');
const picture = { name: 'sky.png', mimeType: 'image/png', buffer: PNG };
const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('<script>hit = 1</script>') };

/** An agent that takes pictures and brings two files: what it was sent, and one that is not what it says. */
let printer;
const printed = [];
async function start() {
  printer = createServer(async (request, response) => {
    const base = `http://127.0.0.1:${printer.address().port}/`;
    const json = (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (request.method === 'GET') {
      return json({
        name: 'Printer', description: 'Prints pictures', version: '1', capabilities: {},
        supportedInterfaces: [{ url: base, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
        defaultInputModes: ['text/plain', 'image/*'], defaultOutputModes: ['text/plain', 'image/png'],
        skills: [{ id: 'printer', name: 'printer', description: 'Print this picture', tags: ['type:printer'], examples: ['Print this picture'] }],
      });
    }
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, params } = JSON.parse(text);
    const sent = (params.message?.parts ?? []).find(({ raw }) => raw);
    if (sent) printed.push(sent.raw);
    const parts = [{ text: 'Printed.' }, { raw: PNG.toString('base64'), mediaType: 'image/png', filename: 'print.png' }, { raw: 'PHN2Zy8+', mediaType: 'image/png', filename: 'odd.png' }];
    const status = { state: sent ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_FAILED' };
    json({ jsonrpc: '2.0', id, result: { task: { id: `remote-${params.message?.messageId}`, contextId: params.message?.contextId ?? 'c', status, artifacts: sent ? [{ artifactId: 'print', name: 'Print', parts }] : [] } } });
  });
  await new Promise((resolve) => printer.listen(0, '127.0.0.1', resolve));
  const { registry, registry_token: token } = all.system.endpoints;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const at = registry.replace(/\/+$/, '');
  for (const [method, path, body] of [['PUT', 'types/printer', { scope: 'global' }], ['POST', 'agents', { cardUrl: `http://127.0.0.1:${printer.address().port}` }]]) {
    const answer = await fetch(`${at}/${path}`, { method, headers, body: JSON.stringify(body) });
    assert(answer.ok, await answer.text());
  }
}
let started;
/** A page of a new visitor, who finds the agent among those that can be asked. */
async function visit(t) {
  await (started ??= start());
  return all.visit(t);
}
after(() => printer?.close());

const chooser = (page) => page.locator('input[type=file]');
const chips = (page) => page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
const isDrawn = (image) => image.evaluate(async (one) => {
  await one.decode().catch(() => undefined);
  return one.naturalWidth > 0;
});
const bytesOf = async (page, link) => {
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
};

test('what nobody here takes is refused before it is sent, also while the page does not know yet what is taken', async (t) => {
  const { page, check } = await visit(t);
  let known;
  const until = new Promise((resolve) => { known = resolve; });
  await page.route('**/api/models', async (route) => { await until; await route.fallback(); });
  await page.reload();
  await chooser(page).setInputFiles({ name: 'a.zip', mimeType: 'application/zip', buffer: Buffer.from('PK') });
  await page.waitForTimeout(300);
  known();
  await page.getByRole('alert').getByText(/^a\.zip is of a type that is not taken here\. These are: .*txt/).waitFor();
  assert.equal(await chips(page).count(), 0);
  check();
});

test('a picture goes to the agent that takes it; both sides of it can be kept', async (t) => {
  const { page, check } = await visit(t);
  await page.getByLabel('Ask this agent').selectOption('Printer');
  assert.equal(await chooser(page).getAttribute('accept'), 'image/*,text/plain');
  await chooser(page).setInputFiles([picture, note]);
  await chips(page).nth(1).waitFor();
  await page.getByRole('button', { name: 'Remove note.txt' }).click();
  assert.equal(await chips(page).count(), 1);
  await ask(page, 'Print this picture');
  await at(page).badge.getByText('Completed').waitFor();
  assert.equal(await chips(page).count(), 0);

  await page.reload();
  const mine = at(page).mine.first();
  assert(await isDrawn(mine.getByRole('img', { name: 'sky.png' })));
  const back = await bytesOf(page, mine.getByRole('link', { name: /sky\.png/ }));
  assert.deepEqual([back.name, PNG.equals(back.bytes)], ['sky.png', true]);

  await at(page).card.getByRole('link', { name: /Printer/ }).click();
  const panel = page.getByRole('complementary', { name: 'Task' });
  assert(await isDrawn(panel.getByRole('img', { name: 'print.png' })));
  const print = await bytesOf(page, panel.getByRole('link', { name: /print\.png/ }));
  assert.deepEqual([print.name, PNG.equals(print.bytes)], ['print.png', true]);
  // What says that it is a picture and is none is kept, and not shown.
  await panel.getByRole('img', { name: 'odd.png' }).waitFor({ state: 'detached' });
  await panel.getByRole('link', { name: /odd\.png/ }).waitFor();
  await page.getByRole('button', { name: 'Answer again' }).click();
  // The page sends the message as it got it back, and the agent gets the file once more.
  for (let waited = 0; printed.length < 2 && waited < 20_000; waited += 100) await page.waitForTimeout(100);
  assert.deepEqual(printed, [PNG, PNG].map((bytes) => bytes.toString('base64')));
  check();
});

test('what is written offline leaves with its files after a reload', async (t) => {
  const { page, context, expect, check } = await visit(t);
  expect(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await page.getByLabel('Ask this agent').selectOption('Printer');
  await context.setOffline(true);
  await chooser(page).setInputFiles(picture);
  await ask(page, 'Print this picture');
  await page.getByText('Not sent yet').waitFor();
  await page.reload();
  assert(await isDrawn(at(page).mine.getByRole('img', { name: 'sky.png' })));
  await context.setOffline(false);
  await at(page).badge.getByText('Completed').waitFor();
  assert.equal(await at(page).mine.count(), 1);
  check();
});

test('what is not taken is told, and nothing of it is lost', async (t) => {
  const { page, expect, check } = await visit(t);
  expect(/415|Failed to load resource/);
  await chooser(page).setInputFiles({ ...note, name: 'large.txt', buffer: Buffer.alloc(700_001, 'a') });
  await page.getByRole('alert').getByText(/large\.txt does not fit/).waitFor();
  await chooser(page).setInputFiles(Array.from({ length: 6 }, (_, number) => ({ ...note, name: `${number}${'n'.repeat(120)}.txt` })));
  await page.getByRole('alert').getByText('at most 5 files').waitFor();
  assert.equal(await chips(page).count(), 5);
  await page.setViewportSize({ width: 320, height: 700 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, 'it scrolls sideways');
  await page.setViewportSize({ width: 1280, height: 800 });
  for (let left = 5; left > 0; left -= 1) await page.getByRole('button', { name: /^Remove/ }).first().click();

  await page.getByLabel('Ask this agent').selectOption('Printer');
  await chooser(page).setInputFiles({ name: 'a.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') });
  await page.getByRole('alert').getByText(/a\.pdf is of a type that is not taken here\. These are: \w/).waitFor();
  // Its name says one thing, its bytes another: the server looks.
  await chooser(page).setInputFiles({ ...note, name: 'note.png', mimeType: 'image/png' });
  await ask(page, 'Print this picture');
  await page.getByRole('alert').getByText('note.png is not what it says').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await chips(page).getByText('note.png').waitFor();
  assert.equal(await at(page).prompt.inputValue(), 'Print this picture');
  check();
});

test('files are dropped and pasted, and a large picture is made smaller', async (t) => {
  const { page, check } = await visit(t);
  await page.locator('.log').waitFor();
  await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(900, 900);
    const pixels = new ImageData(900, 900);
    for (let at = 0; at < pixels.data.length; at += 65_536) crypto.getRandomValues(pixels.data.subarray(at, at + 65_536));
    for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
    canvas.getContext('2d').putImageData(pixels, 0, 0);
    const noise = new File([await canvas.convertToBlob()], 'noise.png', { type: 'image/png' });
    const data = new DataTransfer();
    data.items.add(noise);
    document.querySelector('.log').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  await chips(page).getByText('noise.jpg').waitFor();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['hello'], 'pasted.txt', { type: 'text/plain' }));
    document.getElementById('prompt').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await chips(page).getByText('pasted.txt').waitFor();
  assert.equal(await chips(page).count(), 2);
  check();
});

test('"try again" with a picture does what failed without one, whether an agent was chosen or not', async (t) => {
  for (const agent of ['Any agent', 'Printer']) {
    const { page, check } = await visit(t);
    await page.getByLabel('Ask this agent').selectOption(agent);
    await ask(page, 'Print this picture');
    await at(page).badge.getByText('Failed').waitFor();
    const before = printed.length;
    await chooser(page).setInputFiles(picture);
    await chips(page).first().waitFor();
    await ask(page, 'try again');
    await at(page).badge.getByText('Completed').waitFor();
    assert.deepEqual(printed.slice(before), [PNG.toString('base64')], agent);
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.locator('.rows li').getByText('Print this picture').nth(1).waitFor();
    check();
  }
});
