// What the tenant's plan allows, what is used of it, and the brake: whether new tasks wait. The plan is its operator's to change, by a command.

import { z } from 'zod';
import { send } from '../api.ts';
import { Sure } from '../parts/dialog.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Grid } from '../parts/grid.tsx';
import { queries } from '../queries.ts';
import { count, dollars, say, words } from '../words.ts';

const limit = z.number().nullish();

export const Plan = z.looseObject({
  name: z.string().nullish(),
  isPaused: z.boolean(),
  tasksPerDay: limit, tasksAtOnce: limit, storageMb: limit, dollarsPerMonth: limit,
  now: z.looseObject({ tasks: z.number(), running: z.number(), microDollars: z.number(), stored: z.number() }),
});

const MEGABYTE = 1_000_000;

export function PlanUsed({ plan, usageKey }: { plan: z.infer<typeof Plan>; usageKey: readonly string[] }) {
  const { run, isBusy, problem } = useDoing();
  const pause = (value: 'on' | null) => run(async () => {
    await send('PATCH', 'admin/settings', { pause: value });
    await queries.invalidateQueries({ queryKey: usageKey });
  });
  const { name, isPaused, now } = plan;
  const rows = [
    // While they are paused none may begin: that is no limit of the plan.
    [words.tasksToday, count(now.tasks), isPaused ? null : plan.tasksPerDay],
    [words.atOnce, count(now.running), plan.tasksAtOnce],
    [words.keptMb, count(Math.ceil(now.stored / MEGABYTE)), plan.storageMb],
    [words.dollarsMonth, dollars(now.microDollars), plan.dollarsPerMonth],
  ] as const;
  return (
    <>
      <h2>{words.servicePlan}</h2>
      {isPaused ? <p className="problem" role="status">{words.paused}</p> : null}
      <Grid label={words.servicePlan} heads={[name ?? words.noPlan, words.used, words.atMost]} numbers={[1, 2]}>
        {rows.map(([of, used, most]) => <tr key={of}><td>{of}</td><td className="number">{used}</td><td className="number">{typeof most === 'number' ? count(most) : '–'}</td></tr>)}
      </Grid>
      <p className="soft">{say('whoChangesPlan', { command: 'switchyard tenant plan' })}</p>
      <div className="card-row">
        {isPaused
          ? <button type="button" className="primary" disabled={isBusy} onClick={() => void pause(null)}>{words.goOn}</button>
          : <Sure does={words.pause} disabled={isBusy} then={() => pause('on')} />}
      </div>
      <Problem text={problem} />
    </>
  );
}
