// Where on Earth the things of a result are, seen from their data alone.

import { z } from 'zod';

const text = z.string().min(1);
const latitude = z.number().min(-90).max(90);
const longitude = z.number().min(-180).max(180);
const named = { name: text.nullish(), title: text.nullish(), label: text.nullish(), id: z.union([text, z.number()]).nullish() };

const Long = z.looseObject({ ...named, latitude, longitude });
const Short = z.looseObject({ ...named, lat: latitude, lng: longitude.nullish(), lon: longitude.nullish() });
const Within = z.looseObject({ ...named, coordinates: z.looseObject({ latitude, longitude }) });

export interface Position {
  /** Which of the things it is, from 1. */
  number: number;
  name: string;
  latitude: number;
  longitude: number;
}

/** Most things that are drawn on a map; its names would cover each other long before. */
const MOST = 100;

function positionOf(value: unknown): Omit<Position, 'number'> | null {
  const called = (one: z.infer<z.ZodObject<typeof named>>) => String(one.name ?? one.title ?? one.label ?? one.id ?? '');
  const long = Long.safeParse(value).data;
  if (long) return { name: called(long), latitude: long.latitude, longitude: long.longitude };
  const within = Within.safeParse(value).data;
  if (within) return { name: called(within), ...within.coordinates };
  const short = Short.safeParse(value).data;
  const east = short?.lng ?? short?.lon;
  return short && typeof east === 'number' ? { name: called(short), latitude: short.lat, longitude: east } : null;
}

/** Where they are; nothing where fewer than two different places are known. */
export function positionsOf(values: readonly unknown[]): Position[] {
  const all = values.slice(0, MOST).flatMap((value, place) => {
    const found = positionOf(value);
    return found ? [{ number: place + 1, ...found }] : [];
  });
  const places = new Set(all.map((one) => `${one.latitude} ${one.longitude}`));
  return places.size > 1 ? all : [];
}

/** What of a thing says where it is, and nothing else: who sees the map does not read it. */
export const PLACING: ReadonlySet<string> = new Set(['latitude', 'longitude', 'lat', 'lng', 'lon', 'coordinates']);

export interface Section {
  west: number;
  /** More than 180 where the section goes over the line of the date. */
  east: number;
  south: number;
  north: number;
}

/** The smallest part of the Earth between meridians and parallels that all of them lie in, with room around them. */
export function sectionOf(positions: readonly Pick<Position, 'latitude' | 'longitude'>[]): Section {
  const sorted = positions.map((one) => one.longitude).sort((one, two) => one - two);
  // The widest gap between two neighbours is what the map leaves out.
  let west = sorted[0] ?? 0;
  let gap = west + 360 - (sorted.at(-1) ?? 0);
  for (const [place, one] of sorted.entries()) {
    const next = sorted[place + 1];
    if (next !== undefined && next - one > gap) [gap, west] = [next - one, next];
  }
  const south = Math.min(...positions.map((one) => one.latitude));
  const north = Math.max(...positions.map((one) => one.latitude));
  const east = west + 360 - gap;
  const room = Math.max((east - west) * 0.15, (north - south) * 0.2, 0.005);
  return { west: west - room, east: east + room, south: Math.max(-90, south - room), north: Math.min(90, north + room) };
}

/** A degree of latitude in kilometres. */
export const KILOMETRES = 111.2;

/** A length of 1, 2 or 5 times a power of ten that is no longer than this. */
export function round(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([5, 2, 1].find((one) => one * power <= most) ?? 1) * power;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A name beside its mark. */
export interface Label {
  text: string;
  isRight: boolean;
}

export interface Mark {
  left: number;
  top: number;
  name: string;
}

/** How high half of a name is, and how wide a letter, in pixels. */
const HALF = 8;
const LETTER = 6.7;
const LONGEST = 24;

const overlap = (one: Box, other: Box): boolean => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** The names that can be read: those that cover neither a mark nor a name before them, nor leave the map. */
export function labelsOf(marks: readonly Mark[], width: number, radius: number): (Label | null)[] {
  const taken: Box[] = marks.map(({ left, top }) => ({ left: left - radius, right: left + radius, top: top - radius, bottom: top + radius }));
  return marks.map(({ left, top, name }) => {
    const text = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    const long = text.length * LETTER;
    const sides = [true, false].map((isRight) => {
      const from = isRight ? left + radius + 1 : left - radius - 1 - long;
      return { isRight, box: { left: from, right: from + long, top: top - HALF, bottom: top + HALF } };
    });
    const free = sides.find(({ box }) => text !== '' && box.left >= 0 && box.right <= width && !taken.some((other) => overlap(box, other)));
    if (!free) return null;
    taken.push(free.box);
    return { text, isRight: free.isRight };
  });
}
