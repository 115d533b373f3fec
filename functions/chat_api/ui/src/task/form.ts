// The fields of a form, by the JSON Schema of what an agent asks for, and what was filled in as the data that it wants.

import { type Card, type Form, type FormField, questionOf } from '../model.ts';
import { heading } from '../result/shape.ts';
import { words } from '../words.ts';

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
    const kind = kindOf(of, listed.length + told.length);
    const choices = kind === 'yes-no' ? [{ value: 'yes', label: words.yes }, { value: 'no', label: words.no }] : [...listed, ...told];
    const field = { name, label: heading(name), hint: whole.description ?? '', choices, isNeeded: needed.includes(name), isList: of !== whole, of };
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

/** Most things that are offered as buttons, and the longest of them. */
const MOST = 12;
const LONGEST = 80;

/** A question whose list, at its end, says what one can answer. */
export function listed(question: string): { text: string; items: string[] } {
  const lines = question.trimEnd().split('\n');
  const items = lines.map((line) => /^\s*\d{1,2}[.)]\s+(.+)$/.exec(line)?.[1]?.trim() ?? '');
  const from = items.findLastIndex((item) => item === '' || item.length > LONGEST) + 1;
  const isList = lines.length - from >= 2 && lines.length - from <= MOST;
  return isList ? { text: lines.slice(0, from).join('\n').trimEnd(), items: items.slice(from) } : { text: question, items: [] };
}

/** An answer that a button gives: in words for the chat, and as the data that an agent asked for. */
export interface Choice {
  label: string;
  say: string;
  data?: Record<string, unknown>;
}

export interface Asked {
  /** What is asked, without what the buttons say. */
  question: string | null;
  choices: Choice[];
  /** What is to be filled in, where buttons do not do. */
  fields: Field[];
}

/** What a card asks, and how it is answered: by what the host offers, by the values of the only field, by the list of the question. */
export function askedBy(card: Card): Asked {
  const question = questionOf(card);
  const fields = (card.form && fieldsOf(card.form)) || [];
  const { text, items } = listed(question ?? '');
  const [only] = fields.length === 1 ? fields : [];
  const filled = (value: string): Choice => ({ label: value, say: value, ...(only ? { data: filledIn([only], () => value).data } : {}) });
  if (card.choices?.length) return { question, choices: card.choices, fields: [] };
  if (only && only.choices.length > 0 && only.choices.length <= MOST) {
    return { question: text, choices: only.choices.map(({ value, label }) => ({ ...filled(value), label, say: label })), fields: [] };
  }
  if (items.length > 0 && (fields.length === 0 || only?.kind === 'text')) return { question: text, choices: items.map(filled), fields: [] };
  return { question, choices: [], fields };
}
