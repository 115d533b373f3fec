// Lets `node --test` import TypeScript: types are taken out by what builds the page.

import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const path = fileURLToPath(url);
  const { code } = await transformWithOxc(await readFile(path, 'utf8'), path);
  return { format: 'module', source: code, shortCircuit: true };
}

if (!import.meta.url.includes('?')) register(`${import.meta.url}?hooks`);
