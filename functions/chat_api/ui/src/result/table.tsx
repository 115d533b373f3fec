// Rows of a result.

import { SafeLink } from '../markdown/markdown.tsx';
import { wholeDay, wholeTime, words } from '../words.ts';
import { PLACING } from './positions.ts';
import { cellText, fieldsOf, heading, isDay, isLink, isTime, type Row, unitOf } from './shape.ts';
import { Tree } from './tree.tsx';

export function Cell({ value }: { value: unknown }) {
  if (isLink(value)) return <SafeLink href={value} />;
  if (isDay(value)) return <time dateTime={value}>{wholeDay(value)}</time>;
  if (isTime(value)) return <time dateTime={value}>{wholeTime(value)}</time>;
  const text = cellText(value);
  return text === null ? <Tree value={value} depth={2} /> : <>{text}</>;
}

/** Rows with their fields; with their numbers, and without what places them, where a map beside them shows it. */
export function Table({ name, rows, isBrief = false, isMapped = false }: { name: string; rows: readonly Row[]; isBrief?: boolean | undefined; isMapped?: boolean | undefined }) {
  const { fields: all, title, link } = fieldsOf(rows, isBrief);
  const fields = isBrief || isMapped ? all.filter((field) => !PLACING.has(field)) : all;
  const units = new Map(fields.map((field) => [field, field === title ? '' : unitOf(rows.map((row) => row[field]))]));
  const bare = (row: Row, field: string) => {
    const [value, unit] = [row[field], units.get(field)];
    return unit && typeof value === 'string' ? value.slice(0, -unit.length).trim() : value;
  };
  const isNumber = (row: Row, field: string): boolean => typeof row[field] === 'number' || (units.get(field) !== '' && !Number.isNaN(Number(bare(row, field))));
  const cell = (row: Row, field: string) => {
    const [value, href] = [bare(row, field), link === null ? null : row[link]];
    return field === title && isLink(href) && typeof value === 'string' ? <SafeLink href={href}>{value}</SafeLink> : <Cell value={value} />;
  };
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={heading(name) || 'Table'}>
      <table>
        <thead><tr>{isMapped ? <th scope="col"><span className="unseen">{words.onMap}</span></th> : null}{fields.map((field) => <th key={field} scope="col" className={rows.every((row) => isNumber(row, field)) ? 'number' : ''}>{heading(field)}{units.get(field) ? <small> {units.get(field)}</small> : null}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {isMapped ? <td className="row-number">{line + 1}</td> : null}
              {fields.map((field) => <td key={field} className={isNumber(row, field) ? 'number' : ''}>{cell(row, field)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
