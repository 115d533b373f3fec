import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellText, fieldsOf, heading, inWords, isDay, isLink, shapeOf, unitOf } from './shape.ts';

test('a result is drawn by what it holds, whoever made it', () => {
  const day = { date: '2026-11-24', temperatureMin: 1, temperatureMax: 6 };
  assert.equal(shapeOf({ places: [{ name: 'Oslo', days: [day] }] }).kind, 'forecast');
  assert.equal(shapeOf({ places: [{ name: 'Oslo', days: [] }] }).kind, 'table');
  const orders = shapeOf({ orders: [{ id: '1001', status: 'sent', items: [{ name: 'lantern', quantity: 2 }] }], unknown: [] });
  assert.deepEqual(orders, { kind: 'table', name: 'orders', rows: [{ id: '1001', status: 'sent', items: [{ name: 'lantern', quantity: 2 }] }], rest: {} });
  assert.equal(shapeOf([{ a: 1 }, { a: 2 }]).kind, 'table');
  assert.deepEqual(shapeOf({ result: '# A\n\nb', topic: 'x' }), { kind: 'text', text: '# A\n\nb' });
});

test('what is nothing of that is shown as it is', () => {
  const deep: unknown[] = [];
  let inner = deep;
  for (let depth = 0; depth < 500; depth += 1) inner.push((inner = []));
  const odd = [null, 0, '', 'text', [], [1, 2], [{}], { places: 'x' }, { orders: [1] }, deep, [[{ a: 1 }]], { a: [{ b: {} }] }];
  for (const value of odd) assert.equal(shapeOf(value).kind, 'json', JSON.stringify(value)?.slice(0, 40));
});

test('cells say lists of things in words, and nothing that they cannot', () => {
  assert.equal(cellText([{ name: 'lantern', quantity: 2 }, { name: 'rope' }]), '2 × lantern, rope');
  assert.equal(cellText(null), '');
  assert.equal(cellText({ a: 1 }), null);
  assert.equal(heading('placedAt'), 'Placed at');
});

test('a day is one of the calendar', () => {
  for (const day of ['2026-11-27', '2028-02-29', '0001-01-01']) assert.equal(isDay(day), true, day);
  for (const none of ['2026-02-30', '2026-13-01', '2026-1-1', '2026-11-27T10:00:00Z', 'on 2026-11-27', '', 20261127, null]) assert.equal(isDay(none), false, String(none));
});

test('rows lead where their only address does, and in brief have no ids and nothing that few of them have', () => {
  const rows = [
    { id: 1, name: 'A flat', offers: ['Wifi'], price: '€ 9', url: 'https://stays.example/1' },
    { id: 2, name: 'A room', offers: [], price: '€ 8', url: 'https://stays.example/2' },
    { id: 3, name: 'A house', offers: null, price: '€ 7', url: null },
  ];
  assert.deepEqual(fieldsOf(rows, false), { fields: ['id', 'name', 'offers', 'price'], title: 'name', link: 'url' });
  assert.deepEqual(fieldsOf(rows, true).fields, ['name', 'price']);
  // Nothing is called by a name here, or two addresses are there: each is shown as it is.
  assert.deepEqual(fieldsOf([{ id: 1, url: 'https://a.example/' }], true), { fields: ['id', 'url'], title: null, link: null });
  assert.deepEqual(fieldsOf([{ name: 'a', one: 'https://a.example/', two: 'https://b.example/' }], false).link, null);
  for (const text of ['http://a.example/', 'javascript:alert(1)', 'https://', 'https:///x', 'see https://a.example/', 'https://a.example/ b', 7, null]) assert.equal(isLink(text), false, String(text));
  assert.equal(isLink('https://a.example'), true);
});

test('what stands beside rows is said as a person would, and what all values end with is said once', () => {
  const beside = { children: 0, currency: null, from: '2026-11-27', guests: 2, nights: 1, place: 'Lisbon', pets: false, to: '2026-11-29', maxPrice: 200 };
  assert.deepEqual(inWords(beside, (day) => day), ['Lisbon', '2026-11-27 – 2026-11-29', '2 guests', '1 night', 'Max price: 200']);
  assert.equal(unitOf(['4.24 out of 5', '4 out of 5']), 'out of 5');
  assert.equal(unitOf(['€ 116 for 2 nights', '€ 9 for 2 nights']), 'for 2 nights');
  for (const none of [['a flat', 'b flat'], ['4 of 5'], ['4 nights', 3], ['1', '2'], ['after 15:00, No smoking', 'after 14:00, No smoking'], []]) assert.equal(unitOf(none), '');
});
