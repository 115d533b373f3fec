import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsOf, positionsOf, round, sectionOf } from './positions.ts';
import { lines, scaleOf } from './scale.ts';

test('a scale has round steps around all values, whatever they are', () => {
  const scale = scaleOf([-3.2, 11.8], [100, 0], 4);
  assert.deepEqual([scale.from, scale.to], [-5, 15]);
  assert.deepEqual(scale.ticks, [-5, 0, 5, 10, 15]);
  assert.equal(scale.at(5), 50);
  for (const values of [[], [7], [7, 7], [0], [1e9, 1e9], [-1e-9, 1e-9], [Number.NaN, 3], [Number.POSITIVE_INFINITY]]) {
    const { ticks, at } = scaleOf(values, [0, 10], 4);
    assert(ticks.length > 1 && ticks.length < 12 && ticks.every(Number.isFinite), `${values}: ${ticks}`);
    assert(values.filter(Number.isFinite).every((one) => at(one) >= -0.01 && at(one) <= 10.01), String(values));
  }
});

test('a line has a gap where nothing is known', () => {
  assert.equal(lines([[0, 0], [1, 1], null, [3, 3]]), 'M0.0 0.0L1.0 1.0M3.0 3.0');
  assert.equal(lines([null, null]), '');
});

test('positions are found however they are written, and nowhere else', () => {
  const found = positionsOf([
    { name: 'Oslo', latitude: 59.9, longitude: 10.7 },
    { title: 'Flat', lat: 60, lng: 11 },
    { id: 7, lat: 60, lon: 12 },
    { label: 'Hut', coordinates: { latitude: 61, longitude: 9 } },
    { name: 'beyond', latitude: 91, longitude: 0 },
    { name: 'text', latitude: '59', longitude: '10' },
    { lat: 1 }, null, 'x', [], { latitude: Number.NaN, longitude: 1 },
  ]);
  assert.deepEqual(found.map(({ name }) => name), ['Oslo', 'Flat', '7', 'Hut']);
  assert.deepEqual(positionsOf([null, ...found]).map(({ number }) => number), [2, 3, 4, 5]);
  // One place alone is no map.
  const oslo = { name: 'Oslo', latitude: 59.9, longitude: 10.7 };
  assert.deepEqual(positionsOf([oslo, { ...oslo, name: 'Oslo again' }]), []);
  assert.deepEqual(positionsOf([]), []);
});

test('a map leaves out the widest part of the Earth where nothing is', () => {
  const at = (longitude: number, latitude = 0) => ({ name: '', latitude, longitude });
  const pacific = sectionOf([at(170), at(-170)]);
  assert(pacific.west < 170 && pacific.west > 150 && pacific.east > 190 && pacific.east < 210, JSON.stringify(pacific));
  const europe = sectionOf([at(-9, 38), at(24, 60)]);
  assert(europe.west < -9 && europe.west > -20 && europe.east > 24 && europe.east < 40, JSON.stringify(europe));
  assert(sectionOf([at(0, 90), at(1, -90)]).north === 90);
});

test('names on a map cover nothing and do not leave it', () => {
  const mark = (left: number, top: number, name = 'A name') => ({ left, top, name });
  const shown = (...marks: ReturnType<typeof mark>[]) => labelsOf(marks, 300, 9).map((label) => (label ? (label.isRight ? 'right' : 'left') : 'none'));
  assert.deepEqual(shown(mark(20, 50)), ['right']);
  // Where the map ends, the name stands on the other side; where neither side has room, the number is enough.
  assert.deepEqual(shown(mark(290, 50)), ['left']);
  assert.deepEqual(shown(mark(150, 50, 'A very long name that is cut')), ['none']);
  // Neither a mark nor another name is covered.
  assert.deepEqual(shown(mark(100, 50), mark(130, 52)), ['left', 'right']);
  assert.deepEqual(shown(mark(20, 50), mark(20, 60), mark(20, 90)), ['right', 'none', 'right']);
  assert.deepEqual(shown(mark(20, 50, '')), ['none']);
  assert.equal(labelsOf([mark(20, 50, 'Bright flat by the park (sandbox)')], 300, 9)[0]?.text, 'Bright flat by the park…');
});

test('lengths of scales are round', () => {
  assert.deepEqual([round(7), round(4.9), round(1), round(0.03), round(1234)], [5, 2, 1, 0.02, 1000]);
});
