// What a task brought, or says so far.

import { Markdown } from '../markdown/markdown.tsx';
import { type Artifact, isOver, type Task } from '../model.ts';
import { Boundary } from '../parts/states.tsx';
import { ArtifactView, artifactsOf } from '../result/result.tsx';
import { words } from '../words.ts';
import { Part } from './answer.tsx';
import { sharesOf } from './shares.ts';

const Artifacts = ({ of }: { of: readonly Artifact[] }) => <>{of.map((artifact, place) => <Boundary key={place} value={artifact}><ArtifactView artifact={artifact} /></Boundary>)}</>;

export function Outcome({ task }: { task: Task }) {
  const shares = sharesOf(task).filter(({ artifacts }) => artifacts.length > 0);
  if (shares.length > 1) return <>{shares.map((share) => <Part key={share.job.number} share={share}><Artifacts of={share.artifacts} /></Part>)}</>;
  const found = artifactsOf(task);
  if (found.length > 0) return <Artifacts of={found} />;
  if (task.statusMessage) return <Markdown text={task.statusMessage} />;
  return <p className="soft">{isOver(task.status) ? words.broughtNothing : words.noResult}</p>;
}
