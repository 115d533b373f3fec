import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsSoon } from './renew.ts';

test('a sign-in is renewed in its last hour, and nothing else is', () => {
  const now = Date.parse('2026-01-01T12:00:00Z');
  const until = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
  assert(endsSoon({ who: 'person', until: until(59) }, now) && endsSoon({ who: 'person', until: until(60) }, now));
  for (const minutes of [61, 0, -1]) assert(!endsSoon({ who: 'person', until: until(minutes) }, now), String(minutes));
  assert(!endsSoon({ who: 'guest', until: until(30) }, now) && !endsSoon({ who: 'nobody', until: until(30) }, now));
  for (const rubbish of [null, undefined, '', 'soon']) assert(!endsSoon({ who: 'person', until: rubbish }, now), String(rubbish));
});
