// `switchyard page --watch`: whoever works on the page sees a change at the next reload.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { launch, switchyard, System, visitor } from './harness.mjs';

const own = join(import.meta.dirname, '../../../functions/chat_api/ui');
const run = promisify(execFile);

test('a change of the sources is on the page when it is loaded again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-sources-'));
  const isSource = (path) => path === own || !['node_modules', 'dist'].includes(basename(path));
  cpSync(own, folder, { recursive: true, filter: isSource });
  symlinkSync(realpathSync(join(own, 'node_modules')), join(folder, 'node_modules'));
  const system = await System.as(['page', '--watch', '--sources', folder]);
  t.after(async () => {
    await system.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const browser = await launch();
  t.after(() => browser.close());
  const { context, check } = await visitor(browser);
  const page = await context.newPage();
  await page.goto(`${system.base('acme')}/`);
  await page.getByText('What can I do for you?').waitFor();
  const words = join(folder, 'src/languages/en.json');
  writeFileSync(words, readFileSync(words, 'utf8').replace('What can I do for you?', 'What shall it be?'));
  const isThere = async () => {
    await page.reload();
    await page.locator('.composer, #prompt').first().waitFor();
    return (await page.getByText('What shall it be?').count()) > 0;
  };
  for (let round = 0; !(await isThere()); round += 1) {
    assert(round < 40, 'the change is not there');
    await page.waitForTimeout(500);
  }
  check();
});

test('what it needs is said where it is missing', async () => {
  const data = mkdtempSync(join(tmpdir(), 'switchyard-watch-'));
  const told = async (more, env = process.env) => {
    const error = await run(switchyard, ['page', ...more, '--port', '0', '--data', data], { env }).then(() => null, (error) => error);
    assert(error && error.code > 0, `${more}`);
    return error.stderr;
  };
  assert.match(await told(['--watch', '--sources', own], { ...process.env, PATH: '/nowhere' }), /built by Node\.js .* there is no `node` here/);
  assert.match(await told(['--watch', '--sources', '/nowhere']), /no sources of a page in \/nowhere/);
  assert.match(await told([]), /--watch/);
  rmSync(data, { recursive: true, force: true });
});
