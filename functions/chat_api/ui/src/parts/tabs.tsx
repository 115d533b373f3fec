// Tabs as the ARIA practices have them: arrows move, one tab is in the order of the keyboard.

import type { KeyboardEvent, ReactNode } from 'react';
import { useId, useRef } from 'react';

interface Tab {
  id: string;
  name: string;
  show: () => ReactNode;
}

interface Shown {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  choose: (id: string) => void;
}

const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

export function Tabs({ label, tabs, chosen, choose }: Shown) {
  const own = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const place = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(place + step + tabs.length) % tabs.length];
    if (!next) return;
    choose(next.id);
    list.current?.querySelector<HTMLElement>(`#${CSS.escape(`${own}${next.id}`)}`)?.focus();
  };
  const current = tabs.find(({ id }) => id === chosen);
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ id, name }) => (
          <button key={id} id={`${own}${id}`} type="button" role="tab" aria-selected={id === chosen} aria-controls={`${own}panel`} tabIndex={id === chosen ? 0 : -1} onClick={() => choose(id)}>
            {name}
          </button>
        ))}
      </div>
      <div className="tab-panel" id={`${own}panel`} role="tabpanel" aria-labelledby={`${own}${chosen}`} tabIndex={0}>
        {current?.show()}
      </div>
    </>
  );
}
