// What a screen reader says of a change of state: each once.

import { useEffect, useState } from 'react';
import { cards } from '../live/cards.ts';
import { stateOf, words } from '../words.ts';

export function Announcer() {
  const [said, say] = useState('');
  useEffect(() => {
    const told = new Map<string, string>();
    return cards.listen((card) => {
      if (told.get(card.taskId) === card.state) return;
      told.set(card.taskId, card.state);
      say(`${card.agentName || card.agentType || card.title || words.task}: ${stateOf(card.state)}`);
    });
  }, []);
  return <p className="unseen" role="status">{said}</p>;
}
