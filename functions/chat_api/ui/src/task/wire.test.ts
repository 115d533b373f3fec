import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { asks, generations, reads } from './wire.ts';

/** What curl would be given, read by a real shell. */
function given(command: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; TOKEN=t; ${command}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

test('a shell gives curl what was meant, whatever is in the prompt', () => {
  const prompts = ['Weather in Oslo?', `it's "$HOME" \`id\` $(id) \\ !! ; rm -rf / #`, "'; touch /tmp/x; '", 'línea\notra\t🙂', '%0a--data @/etc/passwd'];
  for (const generation of generations) {
    for (const prompt of prompts) {
      const words = given(asks('https://x.example/a/1', generation, prompt, 'm-1'));
      assert.deepEqual(words.slice(0, 2), ['-sS', 'https://x.example/a/1']);
      assert(words.includes('Authorization: Bearer t'));
      const { method, params } = JSON.parse(words.at(-1) ?? '');
      assert.equal(params.message.parts[0].text, prompt);
      assert.equal(method, generation === '1.0' ? 'SendMessage' : 'message/send');
      assert.equal(words.includes('A2A-Version: 1.0'), generation === '1.0');
    }
    const { params } = JSON.parse(given(reads('https://x.example', generation, 'task-1')).at(-1) ?? '');
    assert.deepEqual(params, { id: 'task-1' });
  }
});
