import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf, filledIn } from './form.ts';

const schema = {
  properties: {
    adults: { type: 'integer', minimum: 1, description: 'How many adults.' },
    checkIn: { type: 'string', format: 'date' },
    kind: { type: 'string', oneOf: [{ const: 'flat', description: 'A whole flat' }] },
    pets: { type: 'boolean' },
    answers: { type: 'array', items: { type: 'string', enum: ['Portland, Oregon', 'Portland, Maine'] } },
  },
  required: ['checkIn', 'adults'],
};

test('what is needed comes first, in the order in which it is asked for', () => {
  const fields = fieldsOf(schema)!;
  assert.deepEqual(fields.map(({ label, kind }) => [label, kind]), [['Check in', 'date'], ['Adults', 'number'], ['Kind', 'choice'], ['Pets', 'yes-no'], ['Answers', 'choice']]);
  assert.deepEqual(fields.map(({ isNeeded }) => isNeeded), [true, true, false, false, false]);
});

test('what was filled in goes as data of its types, and is said in words', () => {
  const written: Record<string, string> = { checkIn: '2026-12-04', adults: '2', kind: 'flat', pets: 'no', answers: 'Portland, Maine' };
  const { data, text } = filledIn(fieldsOf(schema)!, (name) => written[name] ?? '');
  assert.deepEqual(data, { checkIn: '2026-12-04', adults: 2, kind: 'flat', pets: false, answers: ['Portland, Maine'] });
  assert.equal(text, 'Check in: 2026-12-04, Adults: 2, Kind: A whole flat, Pets: no, Answers: Portland, Maine');
});

test('what was left out is not said, and what fits into no field is answered in words', () => {
  assert.deepEqual(filledIn(fieldsOf(schema)!, () => '').data, {});
  assert.equal(fieldsOf({ properties: { place: { type: 'object' } } }), null);
  assert.equal(fieldsOf({ properties: {} }), null);
});
