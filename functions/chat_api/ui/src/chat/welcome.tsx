// An empty chat: what it is for, and prompts to begin with.

import { words } from '../words.ts';

const examples = [
  { title: 'Weather', text: 'What will the weather be like in Oslo and Bergen this weekend?' },
  { title: 'A report that takes its time', text: 'Write a report about whales' },
  { title: 'An order, with your consent', text: 'Where is my order 1001?' },
  { title: 'Several agents in a plan', text: 'Check the weather in Oslo tomorrow, and then write a report about umbrellas' },
];

export function Welcome({ choose }: { choose: (text: string) => void }) {
  return (
    <div className="welcome">
      <h2>{words.hello}</h2>
      <p>{words.pitch}</p>
      <ul aria-label={words.examples}>
        {examples.map(({ title, text }) => (
          <li key={title}>
            <button type="button" onClick={() => choose(text)}><strong>{title}</strong><span>{text}</span></button>
          </li>
        ))}
      </ul>
    </div>
  );
}
