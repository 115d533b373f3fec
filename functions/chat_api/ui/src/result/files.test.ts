import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileName, isPicture } from './files.ts';

test('what could hold a script is no picture', () => {
  for (const media of ['image/png', 'image/jpeg', 'image/gif', 'image/webp']) assert(isPicture(media), media);
  for (const media of ['image/svg+xml', 'text/html', '', 'constructor', 'IMAGE/PNG', null, undefined]) assert(!isPicture(media), String(media));
});

test('a file is called what people see', () => {
  assert.equal(fileName('report.pdf', null), 'report.pdf');
  assert.equal(fileName('\u202Egnp.exe', 'image/png'), 'gnp.exe');
  assert.equal(fileName('../../etc/passwd', null), 'etcpasswd');
  assert.equal(fileName('a\u0000b\n.txt', null), 'ab.txt');
  assert.equal(fileName('  ', 'image/png'), 'file.png');
  assert.equal(fileName(undefined, '<img>'), 'file');
  assert.equal(fileName(`${'x'.repeat(500)}.txt`, null).length, 120);
  assert(fileName(`${'x'.repeat(500)}.txt`, null).endsWith('.txt'));
});
