import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, offered, takes, told } from './attached.ts';

test('who takes a type takes it by its name, its kind or anything', () => {
  for (const listed of [['*/*'], ['image/*'], ['text/plain', 'image/png'], []]) assert(takes(listed, 'image/png'), String(listed));
  for (const listed of [['text/plain'], ['image/jpeg'], ['imag/*']]) assert(!takes(listed, 'image/png'), String(listed));
  assert.equal(offered(['text/plain', 'image/*']), 'text/plain,image/*');
  assert.equal(offered(['text/plain', '*/*']), '');
  assert.equal(told(['text/plain', 'application/json', 'image/*']), 'txt, json, image');
});

const file = (name: string, bytes: number) => new File([new Uint8Array(bytes)], name, { type: 'application/pdf' });

test('what does not go along is told before it is sent', async () => {
  const two = await add([], [file('a.pdf', 400_000), file('b.pdf', 400_000), file('c.pdf', 300_000)], ['application/*']);
  assert.deepEqual(two.files.map(({ name }) => name), ['a.pdf', 'c.pdf']);
  assert.match(two.problem, /b\.pdf/);
  const six = await add([], Array.from({ length: 6 }, (_, place) => file(`${place}.pdf`, 1)), []);
  assert.equal(six.files.length, 5);
  assert.match(six.problem, /5/);
  const none = await add([], [file('a.pdf', 1)], ['text/plain', 'image/*']);
  assert.deepEqual(none.files, []);
  assert.match(none.problem, /a\.pdf/);
});
