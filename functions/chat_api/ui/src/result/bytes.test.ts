import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf, fileName, isPicture } from './bytes.ts';

test('a picture is what its bytes say, not what it says', () => {
  const png = bytesOf('iVBORw0KGgo=');
  assert(png && isPicture(png, 'image/png'));
  for (const media of ['image/jpeg', 'image/svg+xml', 'text/html', '', 'constructor', '__proto__', 'IMAGE/PNG']) assert(!isPicture(png, media), media);
  const text = bytesOf(btoa('<svg onload=alert(1)>'));
  assert(text && !isPicture(text, 'image/png') && !isPicture(text, 'image/svg+xml'));
  assert(!isPicture(new Uint8Array(), 'image/png'));
  for (const rubbish of ['?', 'a', '\u{1f600}', '=a']) assert.equal(bytesOf(rubbish), null, rubbish);
  assert.deepEqual(bytesOf('_-8='), bytesOf('/+8='));
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
