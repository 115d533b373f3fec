// An empty chat: what it is for, and prompts to begin with, as the agents that there are name them.

import { useState } from 'react';
import type { Model } from '../model.ts';
import { Bolt } from '../parts/icons.tsx';
import { useModels } from '../queries.ts';
import { say, words } from '../words.ts';

/** So many are shown at first. */
const MOST = 6;

interface Example {
  name: string;
  text: string;
}

/** The first example of each agent; the host's own say what it is for, and nobody begins with those. */
export function examplesOf(models: readonly Model[]): Example[] {
  return models.slice(1).flatMap(({ name, examples: [text] }) => (text ? [{ name, text }] : []));
}

export function Welcome({ choose, survive }: { choose: (text: string) => void; survive: (() => void) | null }) {
  const { data } = useModels();
  const examples = examplesOf(data?.models ?? []);
  const [isWhole, showWhole] = useState(false);
  return (
    <div className="welcome">
      <h2>{words.hello}</h2>
      <p>{words.pitch}</p>
      {examples.length > 0 ? (
        <ul aria-label={words.examples}>
          {examples.slice(0, isWhole ? undefined : MOST).map(({ name, text }) => (
            <li key={name}>
              <button type="button" onClick={() => choose(text)}><strong>{name}</strong><span>{text}</span></button>
            </li>
          ))}
        </ul>
      ) : null}
      {!isWhole && examples.length > MOST ? <button type="button" className="all" onClick={() => showWhole(true)}>{say('allAgents', { count: examples.length })}</button> : null}
      {survive ? (
        <div className="survive">
          <button type="button" onClick={survive}><Bolt /> {words.survive}</button>
          <p>{words.surviveWhy}</p>
        </div>
      ) : null}
    </div>
  );
}
