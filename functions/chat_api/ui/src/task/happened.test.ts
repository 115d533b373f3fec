import assert from 'node:assert/strict';
import { test } from 'node:test';
import { happened } from './happened.ts';

const at = (second: number): string => new Date(second * 1000).toISOString();
const job = (agentName: string, history: { at: string; state: string; message: string | null }[]) => ({ number: 0, state: 'working', agentName, history });

test('a task and its jobs are told in the order of the times, and the same words once', () => {
  const told = happened({
    history: [{ at: at(1), state: 'submitted', message: null }, { at: at(4), state: 'working', message: 'Step 1' }, { at: at(9), state: 'completed', message: 'Done' }],
    jobs: [job('Reports', [
      { at: at(2), state: 'submitted', message: null },
      { at: at(3), state: 'submitted', message: null },
      { at: at(4), state: 'working', message: 'Step 1' },
      { at: at(8), state: 'completed', message: null },
    ])],
    failedAttempts: [{ at: at(5), attempt: 2, reason: null }],
  });
  assert.deepEqual(told.map(({ who, state, text }) => [who, state, text]), [
    ['', 'submitted', ''], ['Reports', 'submitted', ''], ['Reports', 'working', 'Step 1'], ['Attempt 2', 'failed', 'An attempt failed'], ['Reports', 'completed', ''], ['', 'completed', 'Done'],
  ]);
});

test('two agents that say the same are both told', () => {
  const says = (who: string, second: number) => job(who, [{ at: at(second), state: 'working', message: 'Looking' }]);
  const told = happened({ history: [], jobs: [says('Weather', 1), says('Reports', 2)], failedAttempts: null });
  assert.deepEqual(told.map(({ who }) => who), ['Weather', 'Reports']);
});
