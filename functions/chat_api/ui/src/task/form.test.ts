import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedBy, fieldsOf, filledIn } from './form.ts';

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
  assert.equal(text, 'Check in: 2026-12-04, Adults: 2, Kind: A whole flat, Pets: No, Answers: Portland, Maine');
});

test('what was left out is not said, and what fits into no field is answered in words', () => {
  assert.deepEqual(filledIn(fieldsOf(schema)!, () => '').data, {});
  assert.equal(fieldsOf({ properties: { place: { type: 'object' } } }), null);
  assert.equal(fieldsOf({ properties: {} }), null);
});

test('what can be answered by a button is, as the data that was asked for, and the question does not list it again', () => {
  const card = (statusMessage: string, more: object) => ({ artifactType: 'task' as const, taskId: 't', state: 'input-required', statusMessage, ...more });
  const places = ['Portland, Oregon', 'Portland, Maine'];
  const question = `Which one?\n${places.map((place, number) => `${number + 1}. ${place}`).join('\n')}`;
  const which = (items: object) => ({ form: { properties: { which: { type: 'array', items } }, required: ['which'] } });
  for (const form of [which({ type: 'string', format: 'answer' }), which({ type: 'string', enum: places })]) {
    const asked = askedBy(card(question, form));
    assert.equal(asked.question, 'Which one?');
    assert.deepEqual(asked.choices, places.map((place) => ({ label: place, say: place, data: { which: [place] } })));
    assert.deepEqual(asked.fields, []);
  }
  // Without a form the words are the answer; what the host offers comes first; several fields are filled in.
  assert.deepEqual(askedBy(card(question, {})).choices, places.map((place) => ({ label: place, say: place })));
  assert.deepEqual(askedBy(card(question, { choices: [{ label: 'Weather', say: 'weather' }] })).choices, [{ label: 'Weather', say: 'weather' }]);
  assert.deepEqual(askedBy(card('Pets?', { form: { properties: { pets: { type: 'boolean' } } } })).choices.map(({ data }) => data), [{ pets: true }, { pets: false }]);
  assert.equal(askedBy(card('When?', { form: schema })).fields.length, 5);
  // What is no list of answers stays text.
  for (const text of ['What?', '1. Only one', `Read this:\n1. ${'long '.repeat(30)}\n2. b`, '1. a\n2. b\nWhich?']) assert.deepEqual([askedBy(card(text, {})).question, askedBy(card(text, {})).choices], [text, []]);
});
