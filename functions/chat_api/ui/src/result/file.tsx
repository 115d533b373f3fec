// A file: a picture is shown, everything can be kept. Whether it is a picture its bytes decide: what cannot be drawn is not.

import { useState } from 'react';
import { at as placeOf } from '../api.ts';
import { SafeLink } from '../markdown/markdown.tsx';
import type { Part } from '../model.ts';
import { size as sized, words } from '../words.ts';
import { fileName, isPicture } from './files.ts';

interface Shown {
  name: string | null | undefined;
  media: string | null | undefined;
  size: number | null;
  /** Where its bytes are: here, or in the address itself. */
  at: string;
}

export function FileView({ name: given, media, size, at }: Shown) {
  const [isBroken, setBroken] = useState(false);
  const name = fileName(given, media);
  return (
    <figure className="file">
      {isPicture(media) && !isBroken ? <img src={at} alt={name} loading="lazy" onError={() => setBroken(true)} /> : null}
      <figcaption>
        <a href={at} download={name}>{words.download} <bdi>{name}</bdi></a> <span className="soft">{[media, size === null ? '' : sized(size)].filter(Boolean).join(' · ')}</span>
      </figcaption>
    </figure>
  );
}

/** A file of a result, which lies here or elsewhere. */
export function File({ part }: { part: Part }) {
  const own = part.bytes == null ? null : /\/api\/(tasks\/[\w-]+\/files\/[\d.]+)$/.exec(part.url ?? '');
  if (own?.[1]) return <FileView name={part.filename} media={part.mediaType} size={part.bytes ?? null} at={placeOf(own[1])} />;
  const name = fileName(part.filename, part.mediaType);
  if (part.url) return <p className="file"><SafeLink href={part.url}>{name}</SafeLink></p>;
  return <p className="file"><bdi>{name}</bdi> <span className="soft">{words.unreadable}</span></p>;
}
