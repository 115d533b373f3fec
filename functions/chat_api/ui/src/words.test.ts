import assert from 'node:assert/strict';
import { test } from 'node:test';

import de from './languages/de.json' with { type: 'json' };
import en from './languages/en.json' with { type: 'json' };
import es from './languages/es.json' with { type: 'json' };
import fr from './languages/fr.json' with { type: 'json' };
import ja from './languages/ja.json' with { type: 'json' };
import { named, say, stateOfOthers, words } from './words.ts';

/** Each text by the keys that lead to it. */
function texts(of: object, path = ''): [string, string][] {
  return Object.entries(of).flatMap(([key, value]) => (typeof value === 'string' ? [[`${path}${key}`, value]] : texts(value, `${path}${key}.`)));
}

const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();

test('each language has the same keys, and a text with the same places in it for each', () => {
  const english = texts(en);
  for (const [language, other] of Object.entries({ de, es, fr, ja })) {
    const own = new Map(texts(other));
    assert.deepEqual([...own.keys()], english.map(([key]) => key), language);
    for (const [key, text] of english) {
      assert.ok(own.get(key)?.trim(), `${language}: ${key}`);
      // One is said by a word as well: "1 thing", "de taak".
      const wanted = places(text).filter((place) => place !== '{count}');
      assert.deepEqual(places(own.get(key) ?? '').filter((place) => place !== '{count}'), wanted, `${language}: ${key}`);
    }
  }
});

test('values stand in their places, numbers as they are written, and one is one', () => {
  assert.equal(say('waitsForYou', { count: 1 }), '1 thing waits for you');
  assert.equal(say('waitsForYou', { count: 1200 }), '1,200 things wait for you');
  assert.equal(say('detach', { name: '{name} $& {x}' }), 'Remove {name} $& {x}');
  Object.assign(words, de);
  assert.equal(say('cancelAsk', { count: 2 }), '2 Aufgaben abbrechen? Was sie getan haben, bleibt getan.');
  Object.assign(words, en);
});

test('a name from elsewhere that no table has is shown as it is', () => {
  assert.equal(named('states', 'constructor'), 'constructor');
  assert.equal(stateOfOthers('auth-required'), 'Waits for consent');
  assert.equal(stateOfOthers('working'), 'Working');
});
