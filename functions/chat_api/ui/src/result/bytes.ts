// The bytes of a file, what they are, and what to call them.

/** The bytes of a base64 text; null where it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
  } catch {
    return null;
  }
}

/** How files of these types begin. */
const heads: Record<string, readonly number[]> = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff],
  'image/gif': [0x47, 0x49, 0x46, 0x38],
  'image/webp': [0x52, 0x49, 0x46, 0x46],
};

/** Whether it is a picture of the type that it says; others, such as SVG, are only kept. */
export function isPicture(bytes: Uint8Array, media: string): boolean {
  const head = Object.hasOwn(heads, media) ? heads[media] : undefined;
  return head !== undefined && head.every((byte, place) => bytes[place] === byte);
}

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
