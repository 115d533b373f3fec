// What an agent asks for as data, to be filled in. Whoever prefers words answers in words.

import { useId } from 'react';
import { words } from '../words.ts';
import { type Field, filledIn } from './form.ts';

const types = { number: 'number', date: 'date', time: 'time', text: 'text' } as const;
/** So few are seen at one glance. */
const FEW = 6;

function Input({ field, id }: { field: Field; id: string }) {
  const { name, kind, choices, isNeeded, hint, of } = field;
  const about = { id, name, required: isNeeded, 'aria-describedby': hint ? `${id}-hint` : undefined };
  if (kind === 'choice' || kind === 'yes-no') {
    return (
      <select {...about} defaultValue="">
        <option value="">{words.choose}</option>
        {choices.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
      </select>
    );
  }
  const bounds = kind === 'number' ? { min: of.minimum ?? undefined, max: of.maximum ?? undefined, step: of.type === 'integer' ? 1 : 'any' } : {};
  const lengths = kind === 'text' ? { minLength: of.minLength ?? undefined, maxLength: of.maxLength ?? undefined } : {};
  return <input {...about} {...bounds} {...lengths} type={types[kind]} autoComplete="off" />;
}

/** One of a few, as buttons of which one is pressed. */
function Few({ field: { label, name, choices, isNeeded } }: { field: Field }) {
  return (
    <fieldset>
      <legend>{label}{isNeeded ? null : <small> {words.optional}</small>}</legend>
      {choices.map((one) => <label key={one.value} className="pick"><input type="radio" name={name} value={one.value} required={isNeeded} /> {one.label}</label>)}
    </fieldset>
  );
}

/** `answer` gets the data for the agent, and the same in words for the chat. What the question says, no hint says too. */
export function Form({ fields, question, answer }: { fields: readonly Field[]; question: string; answer: (text: string, data: Record<string, unknown>) => void }) {
  const id = useId();
  const send = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const written = new FormData(event.currentTarget);
    const { data, text } = filledIn(fields, (name) => String(written.get(name) ?? ''));
    if (text) answer(text, data);
  };
  return (
    <form className="asked-form" onSubmit={send} aria-label={words.form}>
      {fields.map((field) => {
        const own = { ...field, hint: question.includes(field.hint) ? '' : field.hint };
        return field.choices.length > 0 && field.choices.length <= FEW ? <Few key={field.name} field={field} /> : (
          <label key={field.name} htmlFor={`${id}${field.name}`}>
            <span>{field.label}{field.isNeeded ? null : <small> {words.optional}</small>}</span>
            {own.hint ? <small id={`${id}${field.name}-hint`}>{own.hint}</small> : null}
            <Input field={own} id={`${id}${field.name}`} />
          </label>
        );
      })}
      <button type="submit" className="primary">{words.send}</button>
    </form>
  );
}
