import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beside, sentencesOf, sharesOf, wholeOf } from './shares.ts';

const artifact = (artifactId: string, text: string) => ({ artifactId, parts: [{ text }, { data: {} }] });
const task = {
  artifacts: [artifact('0-stays', 'Nine places.\n1. A flat'), artifact('1-forecast', 'Rain.')],
  jobs: [
    { number: 0, agentName: 'Accommodation', state: 'completed', artifacts: [{ artifactId: 'stays', parts: [], sameAs: '0-stays' }] },
    { number: 1, agentName: 'Weather', state: 'completed', artifacts: [{ artifactId: 'forecast', parts: [], sameAs: '1-forecast' }] },
    { number: 2, agentName: 'Reports', state: 'failed', statusMessage: 'Not today.', artifacts: [] },
  ],
};

test('each agent has its own words and what it brought, and nothing of them is said twice', () => {
  const shares = sharesOf(task);
  assert.deepEqual(shares.map(({ job, text, artifacts }) => [job.agentName, text, artifacts.length]), [['Accommodation', 'Nine places.\n1. A flat', 1], ['Weather', 'Rain.', 1], ['Reports', 'Not today.', 0]]);
  const says = 'Accommodation: Nine places.\n1. A flat\n\nWeather: Rain.\n\nReports did not work.';
  assert.equal(beside(says, shares), 'Reports did not work.');
  assert.equal(beside('Take an umbrella to the first.', shares), 'Take an umbrella to the first.');
});

test('what was cut is whole, and what is said stays without what is listed', () => {
  const whole = `${'word '.repeat(50)}end`;
  assert.equal(wholeOf(`${whole.slice(0, 30)} …`, [artifact('a', whole)]), whole);
  assert.equal(wholeOf('Something else …', [artifact('a', whole)]), 'Something else …');
  assert.equal(sentencesOf('Three:\n1. a\n2. b\n3. c\n\nThat is all.'), 'Three\n\nThat is all.');
  assert.equal(sentencesOf('Two:\n- a\n- b'), 'Two:\n- a\n- b');
});
