// Every text of the page in the language of whoever reads it, and how times and numbers are written there. The texts are in
// `languages/`, one file each; one that lacks a key does not build.

import { local } from './parts/local.ts';
import en from './languages/en.json' with { type: 'json' };

/** What a file of a language holds: the same keys as the English one. */
type Texts = typeof en;

/** The others are loaded where they are spoken. */
const others: Record<string, () => Promise<{ default: Texts }>> = {
  de: () => import('./languages/de.json'),
  es: () => import('./languages/es.json'),
  fr: () => import('./languages/fr.json'),
  ja: () => import('./languages/ja.json'),
};

export const languages = ['en', ...Object.keys(others)];

const KEPT = 'switchyard:lang';

/** The browser's own, the best first. */
const spoken: readonly string[] = typeof navigator === 'undefined' ? [] : navigator.languages ?? [];

/** What the address asks for, or was chosen before in this browser; else the first of the browser's own that there is. */
function chosen(): string {
  if (typeof location === 'undefined') return 'en';
  const asked = new URLSearchParams(location.search).get('lang') ?? '';
  if (languages.includes(asked)) choose(asked);
  const wanted = [asked, local((store) => store.getItem(KEPT)) ?? '', ...spoken].map((name) => name.split('-')[0] ?? '');
  return wanted.find((name) => languages.includes(name)) ?? 'en';
}

/** Speaks another language from the next page on. */
export function choose(name: string): void {
  local((store) => store.setItem(KEPT, name));
}

/** The language of the page's own words. */
export const language = chosen();

/** The browser's way to write that language, where it is one of its own; what the host is told as well. */
export const locale = spoken.find((name) => name.split('-')[0] === language) ?? language;

export const words: Texts = { ...en };

/** Has the words be those of the language; in English where they cannot be loaded. */
export async function learn(): Promise<void> {
  const load = others[language];
  document.documentElement.lang = language;
  if (load) Object.assign(words, (await load().catch(() => ({ default: en }))).default);
}

type Keys<Kind> = { [Key in keyof Texts]: Texts[Key] extends Kind ? Key : never }[keyof Texts];
type Plural = { one: string; other: string };
type Values = Record<string, string | number>;

const whole = new Intl.NumberFormat(locale);
const plurals = new Intl.PluralRules(locale);
export const count = (value: number): string => whole.format(value);

/** A text with these values in its places; by the number of its `count` where that matters. */
export function say(key: Keys<string | Plural>, values: Values): string {
  const said = words[key];
  const text = typeof said === 'string' ? said : said[plurals.select(Number(values.count)) === 'one' ? 'one' : 'other'];
  return text.replace(/\{(\w+)\}/g, (_, name: string) => (typeof values[name] === 'number' ? count(values[name]) : values[name] ?? ''));
}

/** What a table of names calls something from elsewhere: `constructor` is none of them. */
export function named(table: Exclude<Keys<object>, Keys<Plural> | 'host'>, name: string): string {
  const names: Record<string, string> = words[table];
  return (Object.hasOwn(names, name) && names[name]) || name;
}

/** A state. */
export const stateOf = (state: string): string => named('states', state);

/** The same for who only looks after it. */
export const stateOfOthers = (state: string): string => (Object.hasOwn(words.statesOfOthers, state) ? named('statesOfOthers', state) : stateOf(state));

/** That a task is over, or waits. */
export const endOf = (name: string, state: string): string => (state === 'completed' ? say('ended', { name }) : `${name}: ${stateOf(state)}`);

const daysLong = new Intl.NumberFormat(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' });

/** How many whole days ago. */
export const daysSince = (at: string, now = Date.now()): string => daysLong.format(Math.max(0, Math.floor((now - new Date(at).getTime()) / 86_400_000)));

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
const precise = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' });
const full = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });

export const wholeTime = (at: string): string => full.format(new Date(at));
export const timeOfDay = (at: string): string => precise.format(new Date(at));
const dayTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
/** The same in a sentence; what is no time is shown as it is. */
export const dayAndTime = (at: string): string => (Number.isNaN(Date.parse(at)) ? at : dayTime.format(new Date(at)));
/** A date without a time, such as `2026-11-23`. */
export const dateOnly = (date: string): string => weekday.format(new Date(`${date}T00:00:00Z`));

const weekdayOfYear = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
/** The same with its year. */
export const wholeDay = (date: string): string => weekdayOfYear.format(new Date(`${date}T00:00:00Z`));

/** How long ago: seconds and minutes as such, later the time of day, then the date. */
export function ago(at: string, now = Date.now()): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (seconds > -45) return relative.format(0, 'second');
  if (seconds > -3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (seconds > -86_400) return clock.format(new Date(at));
  return day.format(new Date(at));
}

const nearDay = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** The day of a time in a list: today and yesterday by that name. */
export function dayOf(at: string, now = Date.now()): string {
  const midnight = (time: number) => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(now) - midnight(Date.parse(at))) / 86_400_000);
  const text = days < 2 ? nearDay.format(-days, 'day') : day.format(new Date(at));
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A number of bytes, such as `12 kB`. */
export function size(bytes: number): string {
  const unit = bytes < 1000 ? 'byte' : bytes < 1_000_000 ? 'kilobyte' : 'megabyte';
  // In short it is "70 byte".
  const unitDisplay = bytes < 1000 ? 'long' : 'short';
  const value = bytes < 1000 ? bytes : bytes < 1_000_000 ? bytes / 1000 : bytes / 1_000_000;
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay, maximumFractionDigits: value < 10 && bytes >= 1000 ? 1 : 0 }).format(value);
}

/** How long something took, such as `3.2 s` or `4 min`. */
export function lasting(milliseconds: number): string {
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'short', maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
  const seconds = milliseconds / 1000;
  if (seconds < 1) return unit(Math.max(0, Math.round(milliseconds)), 'millisecond');
  if (seconds < 90) return unit(seconds, 'second');
  if (seconds < 5400) return unit(seconds / 60, 'minute');
  return unit(seconds / 3600, 'hour');
}

/** The same of what lies between two times. */
export const span = (from: string, to: string): string => lasting(new Date(to).getTime() - new Date(from).getTime());

/** Millionths of a dollar. */
export const dollars = (micro: number): string => new Intl.NumberFormat(locale, { style: 'currency', currency: 'USD', maximumSignificantDigits: 3 }).format(micro / 1e6);
