// A file that a result holds: a picture is shown, everything can be kept. What it says it is counts only where its bytes agree.

import { useEffect, useMemo, useState } from 'react';
import { SafeLink } from '../markdown/markdown.tsx';
import type { Part } from '../model.ts';
import { size, words } from '../words.ts';
import { bytesOf, fileName, isPicture } from './bytes.ts';

/** An address of the bytes, for as long as the picture is there. */
function useAddress(bytes: Uint8Array<ArrayBuffer> | null, media: string): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (!bytes) return;
    const made = URL.createObjectURL(new Blob([bytes], { type: media }));
    setAddress(made);
    return () => {
      setAddress(null);
      URL.revokeObjectURL(made);
    };
  }, [bytes, media]);
  return address;
}

function keep(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const link = document.createElement('a');
  // Whatever it is, it is kept and not opened.
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function File({ part }: { part: Part }) {
  const name = fileName(part.filename, part.mediaType);
  const media = part.mediaType ?? '';
  const bytes = useMemo(() => (part.raw ? bytesOf(part.raw) : null), [part.raw]);
  const picture = useAddress(bytes && isPicture(bytes, media) ? bytes : null, media);
  if (part.url) return <p className="file"><SafeLink href={part.url}>{name}</SafeLink></p>;
  if (!bytes) return <p className="file"><bdi>{name}</bdi> <span className="soft">{words.unreadable}</span></p>;
  return (
    <figure className="file">
      {picture ? <img src={picture} alt={name} /> : null}
      <figcaption>
        <button type="button" onClick={() => keep(bytes, name)}>{words.download} <bdi>{name}</bdi></button> <span className="soft">{[media, size(bytes.length)].filter(Boolean).join(' · ')}</span>
      </figcaption>
    </figure>
  );
}
