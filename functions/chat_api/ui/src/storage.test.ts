import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from './backoff.ts';
import { looksLikeCode, mayBecomeCode } from './codes.ts';
import { change, isOf, type Owner, read, written } from './owners.ts';

test('consent codes are known, as they are typed', () => {
  for (const code of ['BCDF-GHJK', 'bcdfghjk', 'the code is BCDF GHJK.', 'B C D F G H J K', 'BCDF–GHJK', 'bcdf - ghjk', 'BCDF-GHJKL', 'codeBCDFGHJK'])
    assert(looksLikeCode(code) && mayBecomeCode(code), code);
  for (const text of ['Will it rain in Oslo?', 'order 1001', 'ABCD-EFGH', 'rhythm', 'the months to come', 'Knightsbridge', '']) assert(!looksLikeCode(text), text);
});

test('most of a code is kept no more than a code', () => {
  const code = 'my code is BCDF-GHJK';
  for (let end = code.length; end > code.indexOf('F-G') + 2; end -= 1) assert(mayBecomeCode(code.slice(0, end)), code.slice(0, end));
  for (const text of ['Will it rain in Oslo', 'I like Knightsbridge very much', 'BCDF', 'tell me', 'BCDF-GHJ and so on']) assert(!mayBecomeCode(text), text);
});

const nobody: Owner = { who: 'nobody', mark: '' };
const guest: Owner = { who: 'guest', mark: 'g' };
const ada: Owner = { who: 'person', mark: 'a' };
const ben: Owner = { who: 'person', mark: 'b' };

test('what somebody wrote is theirs alone; a guest goes on with what nobody wrote', () => {
  assert.equal(change(nobody, guest), 'grown');
  for (const one of [nobody, guest, ada]) assert.equal(change(one, one), 'same');
  for (const [before, now] of [[nobody, ada], [guest, ada], [ada, nobody], [guest, nobody], [ada, ben], [ada, guest], [guest, { who: 'guest', mark: 'h' }]] as const)
    assert.equal(change(before, now), 'other', `${before.who} ${now.who}`);
  assert(isOf('', nobody) && isOf('', guest) && isOf('g', guest) && isOf('a', ada));
  assert(!isOf('', ada) && !isOf('g', ada) && !isOf('a', ben) && !isOf('a', nobody) && !isOf('a', guest));
});

test('who was here last is read as it was written, and rubbish is nobody', () => {
  for (const one of [guest, ada]) assert.deepEqual(read(written(one)), one);
  for (const rubbish of [null, '', ' ', 'person', 'person ', 'root x', 'guest a b', 'nobody x', '{}']) assert.deepEqual(read(rubbish), nobody, String(rubbish));
});

test('attempts grow rarer, from half a second to fifteen', () => {
  assert.equal(pause(0, 1), 500);
  assert.equal(pause(0, 0), 250);
  assert.equal(pause(3, 1), 4000);
  assert.equal(pause(500, 1), 15_000);
});
