// What a task brought, or says so far.

import { Markdown } from '../markdown/markdown.tsx';
import { isOver, type Task } from '../model.ts';
import { Boundary } from '../parts/states.tsx';
import { ArtifactView, artifactsOf } from '../result/result.tsx';
import { words } from '../words.ts';

export function Outcome({ task }: { task: Task }) {
  const found = artifactsOf(task);
  if (found.length > 0) return <>{found.map((artifact, place) => <Boundary key={place} value={artifact}><ArtifactView artifact={artifact} /></Boundary>)}</>;
  if (task.statusMessage) return <Markdown text={task.statusMessage} />;
  return <p className="soft">{isOver(task.status) ? words.broughtNothing : words.noResult}</p>;
}
