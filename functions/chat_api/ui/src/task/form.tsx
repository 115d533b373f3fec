// What an agent asks for as data, to be filled in. Whoever prefers words answers in words.

import { useId } from 'react';
import type { Form as Asked } from '../model.ts';
import { words } from '../words.ts';
import { type Field, fieldsOf, filledIn } from './form.ts';

const types = { number: 'number', date: 'date', time: 'time', text: 'text' } as const;

function Input({ field, id }: { field: Field; id: string }) {
  const { name, kind, choices, isNeeded, hint, of } = field;
  const about = { id, name, required: isNeeded, 'aria-describedby': hint ? `${id}-hint` : undefined };
  if (kind === 'choice' || kind === 'yes-no') {
    const listed = kind === 'choice' ? choices : [{ value: 'yes', label: words.yes }, { value: 'no', label: words.no }];
    return (
      <select {...about} defaultValue="">
        <option value="">{words.choose}</option>
        {listed.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
      </select>
    );
  }
  const bounds = kind === 'number' ? { min: of.minimum ?? undefined, max: of.maximum ?? undefined, step: of.type === 'integer' ? 1 : 'any' } : {};
  const lengths = kind === 'text' ? { minLength: of.minLength ?? undefined, maxLength: of.maxLength ?? undefined } : {};
  return <input {...about} {...bounds} {...lengths} type={types[kind]} autoComplete="off" />;
}

/** `answer` gets the data for the agent, and the same in words for the chat. */
export function Form({ asked, answer }: { asked: Asked; answer: (text: string, data: Record<string, unknown>) => void }) {
  const id = useId();
  const fields = fieldsOf(asked);
  if (!fields) return null;
  const send = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const written = new FormData(event.currentTarget);
    const { data, text } = filledIn(fields, (name) => String(written.get(name) ?? ''));
    if (text) answer(text, data);
  };
  return (
    <form className="asked-form" onSubmit={send} aria-label={words.form}>
      {fields.map((field) => (
        <label key={field.name} htmlFor={`${id}${field.name}`}>
          <span>{field.label}{field.isNeeded ? null : <small> {words.optional}</small>}</span>
          <Input field={field} id={`${id}${field.name}`} />
          {field.hint ? <small id={`${id}${field.name}-hint`}>{field.hint}</small> : null}
        </label>
      ))}
      <button type="submit" className="primary">{words.send}</button>
    </form>
  );
}
