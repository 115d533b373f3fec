// The result of a finished task, drawn in its card where it is more than words: read once the card comes into view.

import { useEffect, useRef, useState } from 'react';
import { Boundary } from '../parts/states.tsx';
import { useTask } from '../queries.ts';
import { File } from '../result/file.tsx';
import { artifactsOf, Data } from '../result/result.tsx';
import { type Shape, shapeOf } from '../result/shape.ts';

/** So far ahead of the eye. */
const AHEAD = '300px';

/** What has just finished, or comes last, is looked at, though its answer may have pushed it out of sight. */
const FRESH = 60_000;

function useSeen(at: string, isNewest: boolean) {
  const place = useRef<HTMLDivElement>(null);
  const [isSeen, see] = useState(() => isNewest || Date.now() - Date.parse(at) < FRESH);
  useEffect(() => {
    if (isSeen || !place.current) return;
    const observer = new IntersectionObserver((entries) => see(entries.some((one) => one.isIntersecting)), { root: place.current.closest('.log'), rootMargin: AHEAD });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return { place, isSeen };
}

/** Most files of one card; its panel has all of them. */
const FILES = 4;

/** One day or one row is said better in words. */
const isWorthIt = (shape: Shape): boolean =>
  (shape.kind === 'forecast' && shape.forecast.places.flatMap(({ days }) => days).length > 1) || (shape.kind === 'table' && shape.rows.length > 1 && shape.rows.length <= 20);

export function Preview({ id, at, isNewest, drawn }: { id: string; at: string; isNewest: boolean; drawn: () => void }) {
  const { place, isSeen } = useSeen(at, isNewest);
  const { data: task } = useTask(id, isSeen);
  const parts = task ? artifactsOf(task).flatMap((artifact) => artifact.parts) : [];
  const found = parts.find((part) => part.data !== undefined && isWorthIt(shapeOf(part.data)));
  const files = parts.filter(({ raw, url }) => typeof raw === 'string' || typeof url === 'string').slice(0, FILES);
  const isDrawn = found !== undefined;
  useEffect(() => {
    if (isDrawn) drawn();
  }, [isDrawn, drawn]);
  return (
    <div ref={place} className="preview">
      {found ? <Boundary value={found.data}><Data value={found.data} isBrief /></Boundary> : null}
      {files.map((part, place) => <Boundary key={place} value={part}><File part={part} /></Boundary>)}
    </div>
  );
}
