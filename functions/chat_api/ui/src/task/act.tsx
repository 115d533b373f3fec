// What can be done with a task. Its new state comes as news; what the server refuses is said beside the button.

import { send } from '../api.ts';
import { cards } from '../live/cards.ts';
import { live } from '../live/live.ts';
import { cardOf, Task } from '../model.ts';
import { useDoing } from '../parts/doing.tsx';
import { keys, queries, useModels } from '../queries.ts';
import { words } from '../words.ts';

export type Action = 'cancel' | 'start' | 'retry';

export async function act(taskId: string, action: Action, body: object = {}): Promise<void> {
  const response = await send('POST', `tasks/${encodeURIComponent(taskId)}/${action}`, body);
  const task = Task.safeParse(await response.json());
  if (task.success) {
    cards.update(cardOf(task.data));
    live.tell({ type: 'card', card: cardOf(task.data) });
  }
  live.wake();
  await queries.invalidateQueries({ queryKey: keys.task(taskId) });
  await queries.invalidateQueries({ queryKey: keys.tasks });
}

export function useActions(taskId: string) {
  const { run, isBusy, problem } = useDoing();
  return { run: (action: Action, body: object = {}) => run(() => act(taskId, action, body)), isBusy, problem };
}

/** The same once more, of somebody who was not asked for it. */
export function Instead({ asked, isBusy, ask }: { asked: readonly { agentType?: string | null | undefined }[]; isBusy: boolean; ask: (model: string) => void }) {
  const others = (useModels().data?.models ?? []).slice(1).filter(({ id }) => !asked.some(({ agentType }) => agentType === id));
  if (others.length === 0) return null;
  return (
    <select className="instead" aria-label={words.retryWith} value="" disabled={isBusy} onChange={({ target }) => ask(target.value)}>
      <option value="">{words.retryWith} …</option>
      {others.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
    </select>
  );
}
