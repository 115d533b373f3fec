// Whether what a browser keeps is still that of whoever is there.

/** Who is there, as far as it matters to what is kept: nobody has an empty mark. */
export interface Owner {
  who: 'nobody' | 'guest' | 'person';
  mark: string;
}

/** `grown`: nobody has become a guest, who goes on with what nobody wrote. `other`: what is here is somebody else's. */
export function change(before: Owner, now: Owner): 'same' | 'grown' | 'other' {
  if (before.mark === now.mark) return 'same';
  return before.mark === '' && now.who === 'guest' ? 'grown' : 'other';
}

/** Whether what was kept under a mark is that of whoever is there. */
export const isOf = (kept: string, now: Owner): boolean => kept === now.mark || (kept === '' && now.who === 'guest');

/** What a browser keeps of it; anything else is nobody. */
export function read(text: string | null): Owner {
  const [who, mark, more] = (text ?? '').split(' ');
  return (who === 'guest' || who === 'person') && mark && more === undefined ? { who, mark } : { who: 'nobody', mark: '' };
}

export const written = ({ who, mark }: Owner): string => `${who} ${mark}`;
