// Builds the page into a folder whenever its sources change, until nobody holds our standard input any more.
//
//   node scripts/watch.mjs FOLDER      `switchyard page --watch` starts it

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = process.argv[2];
const { build } = await import('vite').catch(() => {
  console.error(`page: its packages are not here: npm --prefix ${root} ci --ignore-scripts`);
  process.exit(1);
});

/** What an earlier build left goes when the next one is there, so that a page can be loaded at any time. */
const tidy = {
  name: 'tidy',
  writeBundle(_, bundle) {
    for (const name of readdirSync(join(folder, 'assets'))) if (!(`assets/${name}` in bundle)) rmSync(join(folder, 'assets', name));
    writeFileSync(join(folder, '.ready'), '');
  },
};

const watcher = await build({ root, logLevel: 'warn', plugins: [tidy], build: { outDir: folder, emptyOutDir: false, watch: {} } });
watcher.on('event', ({ code, duration, error }) => {
  if (code === 'BUNDLE_END') console.error(`page: built in ${duration} ms`);
  if (code === 'ERROR') console.error(`page: ${error.message}`);
});
// A Ctrl-C is for whoever started this.
process.on('SIGINT', () => {});
process.stdin.resume().on('end', () => process.exit());
