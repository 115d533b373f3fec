// What a screen reader says of a change of state: each once.

import { useEffect, useState } from 'react';
import { cards } from '../live/cards.ts';
import { stateOf, words } from '../words.ts';

export function Announcer() {
  const [said, say] = useState({ text: '', number: 0 });
  useEffect(() => {
    const told = new Map<string, string>();
    return cards.hear((card) => {
      if (told.get(card.taskId) === card.state) return;
      told.set(card.taskId, card.state);
      const text = `${card.agentName || card.agentType || card.title || words.task}: ${stateOf(card.state)}`;
      say(({ number }) => ({ text, number: number + 1 }));
    });
  }, []);
  // Two tasks may say the same: what is another element is read anew.
  return <p className="unseen" role="status"><span key={said.number}>{said.text}</span></p>;
}
