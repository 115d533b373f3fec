// What a result is, seen from its data alone: whoever made it.

import { z } from 'zod';

const count = z.number().nullish();
const text = z.string().nullish();

export const Day = z.looseObject({
  date: z.string().regex(/^\d{4}-\d\d-\d\d$/),
  summary: text,
  weatherCode: count,
  temperatureMax: count,
  temperatureMin: count,
  precipitation: count,
  precipitationProbability: count,
  windSpeedMax: count,
});

export const Place = z.looseObject({
  name: z.string(),
  admin1: text,
  country: text,
  latitude: count,
  longitude: count,
  days: z.array(Day),
});

export const Forecast = z.looseObject({
  places: z.array(Place).min(1),
  units: z.looseObject({ temperature: text, precipitation: text, windSpeed: text }).nullish(),
  sandbox: z.boolean().nullish(),
});

export type Day = z.infer<typeof Day>;
export type Place = z.infer<typeof Place>;
export type Forecast = z.infer<typeof Forecast>;

type Flat = string | number | boolean | null;
export type Row = Record<string, unknown>;

export type Shape =
  | { kind: 'forecast'; forecast: Forecast }
  | { kind: 'table'; name: string; rows: Row[]; rest: Row }
  | { kind: 'text'; text: string }
  | { kind: 'json'; value: unknown };

const isFlat = (value: unknown): value is Flat => value === null || ['string', 'number', 'boolean'].includes(typeof value);
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A list of objects of much the same fields, which mostly are plain values. */
function isTable(value: unknown): value is Row[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > 1000 || !value.every(isRow)) return false;
  const fields = Object.keys(value[0] as Row);
  return fields.length > 0 && fields.length <= 12 && fields.some((field) => isFlat((value[0] as Row)[field]));
}

export function shapeOf(value: unknown): Shape {
  const forecast = Forecast.safeParse(value);
  if (forecast.success && forecast.data.places.some(({ days }) => days.length > 0)) return { kind: 'forecast', forecast: forecast.data };
  if (isTable(value)) return { kind: 'table', name: '', rows: value, rest: {} };
  if (isRow(value)) {
    const lists = Object.entries(value).filter(([, one]) => isTable(one));
    const [only] = lists;
    if (lists.length === 1 && only) {
      const rest = Object.entries(value).filter(([name, one]) => name !== only[0] && !(Array.isArray(one) && one.length === 0) && one !== null);
      return { kind: 'table', name: only[0], rows: only[1] as Row[], rest: Object.fromEntries(rest) };
    }
    const { result } = value;
    if (typeof result === 'string' && result.includes('\n')) return { kind: 'text', text: result };
  }
  return { kind: 'json', value };
}

const camel = (name: string): string => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ').toLowerCase();

/** `placedAt` as `Placed at`. */
export const heading = (name: string): string => {
  const words = camel(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** A list of named things in one cell, such as `lantern × 2`. */
export function cellText(value: unknown): string | null {
  if (value === null || value === undefined) return '';
  if (isFlat(value)) return String(value);
  if (Array.isArray(value)) {
    const texts = value.map((one) => {
      if (isFlat(one)) return String(one);
      if (!isRow(one) || typeof one.name !== 'string') return null;
      return typeof one.quantity === 'number' ? `${one.quantity} × ${one.name}` : one.name;
    });
    return texts.every((one) => one !== null) ? texts.join(', ') : null;
  }
  return null;
}

export const isTime = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value));

/** A day of the calendar, such as `2026-11-27`. */
export const isDay = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && new Date(`${value}T00:00:00Z`).toJSON()?.startsWith(value) === true;

/** What stands beside rows, as one would say it: what it is of, its days, and how many of what. Nothing is said of what there is none of. */
export function inWords(fields: Row, day: (day: string) => string): string[] {
  const all = Object.entries(fields).filter(([, value]) => value !== 0 && value !== false && !isNothing(value) && isFlat(value));
  const days = all.filter(([, value]) => isDay(value)).map(([, value]) => String(value)).sort();
  const said = ([name, value]: [string, unknown]): string => {
    if (typeof value === 'string') return value;
    const what = camel(name);
    if (value === true) return heading(name);
    return what.endsWith('s') ? `${value} ${value === 1 ? what.slice(0, -1) : what}` : `${heading(name)}: ${value}`;
  };
  const texts = all.filter(([, value]) => typeof value === 'string' && !isDay(value));
  return [...texts.map(said), ...(days.length > 0 ? [days.map(day).join(' – ')] : []), ...all.filter(([, value]) => typeof value !== 'string').map(said)];
}

/** The words that all values of a column end with, behind their numbers, such as "for 2 nights": they are said once. */
export function unitOf(values: readonly unknown[]): string {
  const apart = values.map((value) => (typeof value === 'string' && /\d/.test(value) ? value.split(' ') : []));
  const [first = []] = apart;
  const isShared = (length: number): boolean => apart.every((words) => words.length > length && /\d/.test(words.slice(0, -length).join(' ')) && words.slice(-length).join(' ') === first.slice(-length).join(' '));
  let length = 0;
  while (values.length > 1 && isShared(length + 1)) length += 1;
  // Where a comma stands before them, they are a sentence's end, and no unit.
  const isUnit = apart.every((words) => !/[,;:.]$/.test(words.at(-length - 1) ?? ''));
  return length > 0 && isUnit ? first.slice(-length).join(' ') : '';
}

/** The address of something on the web. */
export const isLink = (value: unknown): value is string => typeof value === 'string' && /^https:\/\/[^\s/]+\S*$/.test(value) && URL.canParse(value);

const isNothing = (value: unknown): boolean => value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

export interface Fields {
  /** Those that are shown, in their order. */
  fields: string[];
  /** The one with what a row is called. */
  title: string | null;
  /** The one whose address that leads to: it has no column of its own. */
  link: string | null;
}

/** Which fields of rows are shown. In brief those that nearly all rows have, and no ids beside names. */
export function fieldsOf(rows: readonly Row[], isBrief: boolean): Fields {
  const having = (field: string) => rows.filter((row) => !isNothing(row[field])).length;
  const known = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((field) => having(field) > 0);
  const title = ['name', 'title'].find((field) => known.includes(field)) ?? null;
  const links = known.filter((field) => rows.every((row) => isNothing(row[field]) || isLink(row[field])));
  const link = title !== null && links.length === 1 ? (links[0] ?? null) : null;
  const inBrief = (field: string) => having(field) * 4 >= rows.length * 3 && !(title !== null && field === 'id');
  return { fields: known.filter((field) => field !== link && (!isBrief || inBrief(field))), title, link };
}
