// The switch by which this browser is told when a task finishes, also while no page is open.

import { useId, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
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
  const [isBusy, busy] = useState(false);
  const [problem, setProblem] = useState('');
  const id = useId();
  if (!standing) return null;
  const isOn = standing === 'on';
  const turn = async () => {
    busy(true);
    setProblem('');
    try {
      queries.setQueryData(keys.push, await (isOn ? turnOff() : turnOn()));
    } catch {
      setProblem(words.tellMeFailed);
      await queries.invalidateQueries({ queryKey: keys.push });
    } finally {
      busy(false);
    }
  };
  return (
    <div className="tell-me">
      <button type="button" role="switch" aria-checked={isOn} aria-describedby={id} aria-busy={isBusy} disabled={isBusy || standing in why} onClick={() => void turn()}>
        <span className="knob" aria-hidden="true" /> {words.tellMe}
      </button>
      <p id={id} className="soft">{why[standing] ?? words.tellMeMore}</p>
      {problem ? <p className="problem" role="alert">{problem}</p> : null}
    </div>
  );
}
