// What the page weighs on its way: gzipped bytes of what it loads at first, and of each part that it loads later.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const SCRIPT_MAX = 200_000;
const STYLE_MAX = 20_000;
const LATER_MAX = 75_000;

const dist = join(import.meta.dirname, '../../../functions/chat_api/ui/dist');
const first = readFileSync(join(dist, 'index.html'), 'utf8');
const sizes = readdirSync(join(dist, 'assets')).map((name) => ({
  name, bytes: gzipSync(readFileSync(join(dist, 'assets', name)), { level: 9 }).length, isFirst: first.includes(name),
}));
const sum = (ending) => sizes.filter(({ name, isFirst }) => isFirst && name.endsWith(ending)).reduce((all, { bytes }) => all + bytes, 0);
const late = sizes.filter(({ isFirst }) => !isFirst);
console.log(`page: ${sum('.js')} bytes of script (at most ${SCRIPT_MAX}), ${sum('.css')} of style (at most ${STYLE_MAX})`);
for (const { name, bytes } of late) console.log(`later: ${name} ${bytes} (at most ${LATER_MAX})`);
process.exitCode = sum('.js') > SCRIPT_MAX || sum('.css') > STYLE_MAX || late.some(({ bytes }) => bytes > LATER_MAX) ? 1 : 0;
