// A table of ours: it scrolls by itself where it is wider than the page.

import type { ReactNode } from 'react';

interface Shown {
  label: string;
  caption?: string;
  heads: readonly string[];
  /** The columns of numbers. */
  numbers?: readonly number[];
  children: ReactNode;
}

export function Grid({ label, caption, heads, numbers = [], children }: Shown) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        {caption ? <caption>{caption}</caption> : null}
        <thead><tr>{heads.map((name, place) => <th key={name} scope="col" className={numbers.includes(place) ? 'number' : ''}>{name}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
