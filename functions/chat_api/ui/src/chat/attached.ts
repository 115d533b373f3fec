// Files that a message takes along: how many, how large, of which types. Pictures that are too large are made smaller here.

import { say, size, words } from '../words.ts';

/** A file as it waits with its message, and as the AI SDK sends it. */
export interface Attached {
  name: string;
  type: string;
  size: number;
  /** Its bytes, as a data: address. */
  url: string;
}

export const FILES_MAX = 5;
/** Of all files of a message together. */
export const BYTES_MAX = 700_000;

/** Longest sides that a picture is tried with, in pixels. */
const SIDES = [2048, 1600, 1200, 800] as const;
const PICTURE = /^image\/(png|jpeg|webp)$/;

/** Whether somebody who lists these media types takes this one. */
export const takes = (listed: readonly string[], type: string): boolean =>
  listed.length === 0 || listed.some((one) => one === '*/*' || one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))));

/** What a file chooser offers. */
export const offered = (listed: readonly string[]): string => (listed.includes('*/*') ? '' : listed.join(','));

/** The same in short, for people. */
export const told = (listed: readonly string[]): string => listed.map((one) => (one === 'text/plain' ? 'txt' : one.replace(/^[^/]+\/(?=[^*])/, '').replace('/*', ''))).join(', ');

/** A browser knows few types by a file's name: what is text can be read all the same. */
async function typeOf(file: File): Promise<string> {
  if (file.type) return file.type.toLowerCase();
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return text.includes('\0') ? 'application/octet-stream' : 'text/plain';
  } catch {
    return 'application/octet-stream';
  }
}

/** The picture in so many bytes at most; null where that cannot be. */
async function smaller(file: File, most: number): Promise<File | null> {
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return null;
  for (const side of SIDES) {
    const scale = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = new OffscreenCanvas(Math.max(1, Math.round(picture.width * scale)), Math.max(1, Math.round(picture.height * scale)));
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const made = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 });
    if (made.size <= most) return new File([made], `${file.name.replace(/\.[^.]+$/, '')}.jpg`, { type: 'image/jpeg' });
  }
  return null;
}

async function address(file: Blob, type: string): Promise<string> {
  let text = '';
  for (const byte of new Uint8Array(await file.arrayBuffer())) text += String.fromCharCode(byte);
  return `data:${type};base64,${btoa(text)}`;
}

/** Adds files to those that are there; what is not added, and why. */
export async function add(there: readonly Attached[], files: readonly File[], listed: readonly string[]): Promise<{ files: Attached[]; problem: string }> {
  const [all, problems] = [[...there], new Set<string>()];
  for (const chosen of files) {
    const room = BYTES_MAX - all.reduce((sum, one) => sum + one.size, 0);
    if (all.length === FILES_MAX) {
      problems.add(say('tooManyFiles', { count: FILES_MAX }));
      break;
    }
    let [file, type] = [chosen, await typeOf(chosen).catch(() => '')];
    if (file.size > room && PICTURE.test(type)) {
      file = (await smaller(chosen, room)) ?? chosen;
      type = file.type;
    }
    if (!takes(listed, type)) problems.add(say('typeNotTaken', { name: chosen.name, types: told(listed) }));
    else if (file.size > room) problems.add(say('filesTooLarge', { name: chosen.name, most: size(BYTES_MAX) }));
    else {
      const url = await address(file, type).catch(() => null);
      if (url) all.push({ name: file.name, type, size: file.size, url });
      else problems.add(`${chosen.name}: ${words.unreadable}`);
    }
  }
  return { files: all, problem: [...problems].join(' ') };
}
