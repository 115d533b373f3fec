// Artifacts by the shape of what they hold.

import type { Artifact, Part, Task } from '../model.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Boundary } from '../parts/states.tsx';
import { wholeDay, words } from '../words.ts';
import { Drawing, Places } from './drawing.tsx';
import { File } from './file.tsx';
import { Forecast } from './forecast.tsx';
import { positionsOf } from './positions.ts';
import { inWords, type Row, shapeOf } from './shape.ts';
import { Table } from './table.tsx';
import { Tree } from './tree.tsx';

/** What stands beside the rows: plain values in a line, anything else as it is. */
function Rest({ of }: { of: Row }) {
  const said = inWords(of, wholeDay);
  const other = Object.entries(of).filter(([, value]) => typeof value === 'object');
  return (
    <>
      {said.length > 0 ? <p className="beside">{said.join(' · ')}</p> : null}
      {other.length > 0 ? <Tree value={Object.fromEntries(other)} depth={1} /> : null}
    </>
  );
}

/** Data by its shape; in brief without what only helps who looks closely. */
export function Data({ value, isBrief }: { value: unknown; isBrief?: boolean }) {
  const shape = shapeOf(value);
  switch (shape.kind) {
    case 'forecast':
      return <Forecast forecast={shape.forecast} isBrief={isBrief} />;
    case 'table': {
      // Where the rows are, where they say so.
      const positions = isBrief ? [] : positionsOf(shape.rows);
      const isMapped = positions.length > 0;
      return (
        <>
          {isMapped ? <Drawing><Places positions={positions} isNumbered /></Drawing> : null}
          <Rest of={shape.rest} />
          <Table name={shape.name} rows={shape.rows} isBrief={isBrief} isMapped={isMapped} />
        </>
      );
    }
    case 'text':
      return <Markdown text={shape.text} />;
    default:
      return <Tree value={shape.value} />;
  }
}

function OnePart({ part, says }: { part: Part; says: ReadonlySet<string> }) {
  if (typeof part.text === 'string') return <Markdown text={part.text} />;
  if (part.data !== undefined) {
    const shape = shapeOf(part.data);
    // Beside a text the same text for programs.
    if (shape.kind === 'text' && says.has(shape.text.trim())) return null;
    return <Data value={part.data} />;
  }
  return <File part={part} />;
}

/** The heading that a text begins with. */
const headingOf = (text: string | null | undefined): string | undefined => text?.match(/^\s*#{1,6} +(.+?)[ #]*(?:\r?\n|$)/)?.[1];

export function ArtifactView({ artifact }: { artifact: Artifact }) {
  const says = new Set([artifact.parts.map(({ text }) => text ?? '').join('').trim(), ...artifact.parts.map(({ text }) => (text ?? '').trim())]);
  return (
    <article className="artifact" aria-label={artifact.name || words.result}>
      {artifact.name && headingOf(artifact.parts[0]?.text) !== artifact.name ? <h3>{artifact.name}</h3> : null}
      {artifact.parts.map((part, place) => <Boundary key={place} value={part}><OnePart part={part} says={says} /></Boundary>)}
      {artifact.parts.length === 0 && artifact.bytes ? <p className="soft">{Math.round(artifact.bytes / 1024)} KB</p> : null}
    </article>
  );
}

/** All that a task brought: its answer's artifacts, and those of its jobs that are not in the answer. */
export function artifactsOf(task: Task): Artifact[] {
  const own = task.jobs.flatMap((job) => job.artifacts ?? []).filter(({ parts }) => parts.length > 0);
  return [...task.artifacts, ...own];
}
