import assert from 'node:assert/strict';
import { test } from 'node:test';
import { questionOf, withoutQuestion } from './model.ts';

test('a question stands in its card alone', () => {
  const asks = { state: 'input-required', statusMessage: ' Which Springfield? ', plan: null };
  assert.equal(questionOf(asks), 'Which Springfield?');
  assert.equal(questionOf({ ...asks, state: 'completed' }), null);
  assert.equal(questionOf({ ...asks, statusMessage: '  ' }), null);
  assert.equal(questionOf({ ...asks, plan: { hash: 'h', isApproved: false, steps: [] } }), null);
  const question = questionOf(asks);
  assert.equal(withoutQuestion('Which Springfield?', question), '');
  assert.equal(withoutQuestion('Report: done.\n\nWhich Springfield?\n', question), 'Report: done.');
  assert.equal(withoutQuestion('Which Springfield? That one.', question), 'Which Springfield? That one.');
  assert.equal(withoutQuestion('Done.', null), 'Done.');
});
