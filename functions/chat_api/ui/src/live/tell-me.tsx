// The switch by which this browser is told when a task finishes, also while no page is open.

import { useId } from 'react';
import { useQuery } from '@tanstack/react-query';
import { Problem, useDoing } from '../parts/doing.tsx';
import { keys, queries } from '../queries.ts';
import { words } from '../words.ts';
import { look, type Standing, turnOff, turnOn } from './push.ts';

const why: Partial<Record<Standing, string>> = {
  unsupported: words.tellMeUnsupported,
  elsewhere: words.tellMeElsewhere,
  denied: words.tellMeDenied,
};

export function TellMe() {
  const { data: standing } = useQuery({ queryKey: keys.push, queryFn: look, staleTime: 60_000 });
  const { run, isBusy, problem } = useDoing();
  const id = useId();
  if (!standing) return null;
  const isOn = standing === 'on';
  const turn = async () => {
    const isDone = await run(async () => queries.setQueryData(keys.push, await (isOn ? turnOff() : turnOn())));
    if (!isDone) await queries.invalidateQueries({ queryKey: keys.push });
  };
  return (
    <div className="tell-me">
      <button type="button" role="switch" aria-checked={isOn} aria-describedby={id} aria-busy={isBusy} disabled={isBusy || standing in why} onClick={() => void turn()}>
        <span className="knob" aria-hidden="true" /> {words.tellMe}
      </button>
      <p id={id} className="soft">{why[standing] ?? words.tellMeMore}</p>
      <Problem text={problem && words.tellMeFailed} />
    </div>
  );
}
