/** Starts the agent and asks it as a host does: `npm test`. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

let agent: ChildProcess;
let url: string;

before(async () => {
  const program = fileURLToPath(new URL('agent.js', import.meta.url));
  agent = spawn(process.execPath, [program, '--port', '0', '--no-join'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(agent.stdout!), 'line');
  ({ url } = JSON.parse(line));
});

after(() => agent.kill());

async function ask(text: string): Promise<any> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  });
  return (await answer.json()).result.task;
}

test('it counts', async () => {
  const task = await ask('Count the words: the quick brown fox');
  assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
  assert.match(JSON.stringify(task.artifacts), /4 words/);
});

test('it asks for what it lacks', async () => {
  const task = await ask('Count the words');
  assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
});
