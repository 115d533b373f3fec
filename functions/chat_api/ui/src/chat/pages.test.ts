import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined } from './pages.ts';

const of = (ids: string) => [...ids].map((id) => ({ id }));
const text = (all: { messages: { id: string }[]; isLonger: boolean }) => [all.messages.map(({ id }) => id).join(''), all.isLonger];

test('the newest page goes behind what was read of earlier ones', () => {
  assert.deepEqual(text(joined(of(''), of('abc'))), ['abc', false]);
  assert.deepEqual(text(joined(of('abc'), of('abc'))), ['abc', false]);
  assert.deepEqual(text(joined(of('abcde'), of('cde'))), ['abcde', true]);
  // More was said meanwhile, and what was shown on its way has another id.
  assert.deepEqual(text(joined(of('abcx'), of('cde'))), ['abcde', true]);
});

test('what has nothing to do with it gives way', () => {
  assert.deepEqual(text(joined(of('abc'), of('xyz'))), ['xyz', false]);
  assert.deepEqual(text(joined(of('abc'), of(''))), ['', false]);
});
