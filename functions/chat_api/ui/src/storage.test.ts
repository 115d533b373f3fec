import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from './backoff.ts';
import { looksLikeCode } from './codes.ts';

test('consent codes are known, as they are typed', () => {
  for (const code of ['BCDF-GHJK', 'bcdfghjk', 'the code is BCDF GHJK.']) assert(looksLikeCode(code), code);
  for (const text of ['Will it rain in Oslo?', 'order 1001', 'ABCD-EFGH', 'rhythm']) assert(!looksLikeCode(text), text);
});

test('attempts grow rarer, from half a second to fifteen', () => {
  assert.equal(pause(0, 1), 500);
  assert.equal(pause(0, 0), 250);
  assert.equal(pause(3, 1), 4000);
  assert.equal(pause(500, 1), 15_000);
});
