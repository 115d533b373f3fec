// The fields of a form, by the JSON Schema of what an agent asks for, and what was filled in as the data that it wants.

import type { Form, FormField } from '../model.ts';

export type Kind = 'choice' | 'yes-no' | 'number' | 'date' | 'time' | 'text';

export interface Field {
  name: string;
  /** What a person calls it. */
  label: string;
  hint: string;
  kind: Kind;
  choices: { value: string; label: string }[];
  isNeeded: boolean;
  /** The agent wants a list, of which this is the only item. */
  isList: boolean;
  of: FormField;
}

const kindOf = ({ type, format }: FormField, choices: number): Kind | null => {
  if (choices > 0) return 'choice';
  if (type === 'boolean') return 'yes-no';
  if (type === 'integer' || type === 'number') return 'number';
  if (format && ['date', 'day', 'arrival', 'departure'].includes(format)) return 'date';
  if (format === 'time') return 'time';
  return type === 'object' || type === 'array' ? null : 'text';
};

/** "checkIn" as "Check in". */
const called = (name: string): string => {
  const apart = name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_.-]+/g, ' ').toLowerCase();
  return apart.charAt(0).toUpperCase() + apart.slice(1);
};

/** What is needed first, in the order in which it is asked for. Null where some of it fits into no field: then words answer. */
export function fieldsOf(form: Form): Field[] | null {
  const needed = form.required ?? [];
  const names = [...needed, ...Object.keys(form.properties).filter((name) => !needed.includes(name))];
  const fields = names.flatMap((name): (Field | null)[] => {
    const whole = form.properties[name];
    if (!whole) return [];
    const of = whole.type === 'array' && whole.items ? whole.items : whole;
    const listed = (of.enum ?? []).map((value) => ({ value: String(value), label: String(value) }));
    const told = (of.oneOf ?? []).map(({ const: value, description }) => ({ value, label: description || value }));
    const choices = [...listed, ...told];
    const kind = kindOf(of, choices.length);
    const field = { name, label: called(name), hint: whole.description ?? '', choices, isNeeded: needed.includes(name), isList: of !== whole, of };
    return [kind === null ? null : { ...field, kind }];
  });
  return fields.includes(null) || fields.length === 0 ? null : fields.filter((field) => field !== null);
}

/** One value as it was written, of the type that is wanted; undefined where nothing was. */
function valueOf({ kind, of, isList }: Field, written: string): unknown {
  const text = written.trim();
  if (text === '') return undefined;
  const number = kind === 'number' || (kind === 'choice' && (of.type === 'integer' || of.type === 'number'));
  const value = kind === 'yes-no' ? text === 'yes' : number ? Number(text) : text;
  return isList ? [value] : value;
}

/** What was filled in: as data, and as words for the chat. */
export function filledIn(fields: readonly Field[], written: (name: string) => string): { data: Record<string, unknown>; text: string } {
  const all = fields.map((field) => ({ field, text: written(field.name), value: valueOf(field, written(field.name)) }));
  const there = all.filter(({ value }) => value !== undefined);
  const shown = ({ field, text }: { field: Field; text: string }) => field.choices.find(({ value }) => value === text)?.label ?? text.trim();
  return {
    data: Object.fromEntries(there.map(({ field, value }) => [field.name, value])),
    text: there.map((one) => `${one.field.label}: ${shown(one)}`).join(', '),
  };
}
