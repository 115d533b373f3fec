// Rows of a result.

import { SafeLink } from '../markdown/markdown.tsx';
import { wholeTime } from '../words.ts';
import { cellText, fieldsOf, heading, isLink, isTime, type Row } from './shape.ts';
import { Tree } from './tree.tsx';

export function Cell({ value }: { value: unknown }) {
  if (isLink(value)) return <SafeLink href={value} />;
  if (isTime(value)) return <time dateTime={value}>{wholeTime(value)}</time>;
  const text = cellText(value);
  return text === null ? <Tree value={value} depth={2} /> : <>{text}</>;
}

export function Table({ name, rows, isBrief = false }: { name: string; rows: readonly Row[]; isBrief?: boolean | undefined }) {
  const { fields, title, link } = fieldsOf(rows, isBrief);
  const cell = (row: Row, field: string) => {
    const [value, href] = [row[field], link === null ? null : row[link]];
    return field === title && isLink(href) && typeof value === 'string' ? <SafeLink href={href}>{value}</SafeLink> : <Cell value={value} />;
  };
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={heading(name) || 'Table'}>
      <table>
        <thead><tr>{fields.map((field) => <th key={field} scope="col">{heading(field)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {fields.map((field) => <td key={field} className={typeof row[field] === 'number' ? 'number' : ''}>{cell(row, field)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
