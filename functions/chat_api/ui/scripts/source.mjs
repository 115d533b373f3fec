// The SHA-256 over everything that `dist` is made from: each file's path, its length and its bytes, in the order of the paths.
// `build.rs` computes the same, and says so where `dist/.source` tells another.
//
//   node scripts/source.mjs            prints it
//   node scripts/source.mjs --write    writes it into dist/.source

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const none = new Set(['node_modules', 'dist']);

function files(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    if (!folder && none.has(entry.name)) return [];
    return entry.isDirectory() ? files(path) : [path];
  });
}

const hash = createHash('sha256');
for (const path of files('').sort((one, two) => Buffer.compare(Buffer.from(one), Buffer.from(two)))) {
  const bytes = readFileSync(join(root, path));
  hash.update(`${path}\0${bytes.length}\0`).update(bytes);
}
const source = `${hash.digest('hex')}\n`;
if (process.argv[2] === '--write') writeFileSync(join(root, 'dist/.source'), source);
else process.stdout.write(source);
