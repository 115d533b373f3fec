// What to call a file, and whether it may be drawn.

/** Pictures that are drawn; others, such as SVG, are only kept. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export const isPicture = (media: string | null | undefined): boolean => PICTURES.has(media ?? '');

/** What nobody can see in a name, or what paths are made of. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
const ODD = /[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff/\\:*?"<>|]/g;
const NAME_MAX = 120;

/** A name to keep the file by: what turns letters around, or leads elsewhere, is taken out. */
export function fileName(name: string | null | undefined, media: string | null | undefined): string {
  const clean = (name ?? '').replaceAll(ODD, '').replace(/^\.+/, '').trim().slice(-NAME_MAX);
  if (clean) return clean;
  const ending = /^[a-z]+\/([a-z\d]{1,10})$/.exec(media ?? '')?.[1];
  return ending ? `file.${ending}` : 'file';
}
