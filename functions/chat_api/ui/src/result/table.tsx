// Rows of a result.

import { wholeTime } from '../words.ts';
import { cellText, heading, isTime, type Row } from './shape.ts';
import { Tree } from './tree.tsx';

function Cell({ value }: { value: unknown }) {
  if (isTime(value)) return <time dateTime={value}>{wholeTime(value)}</time>;
  const text = cellText(value);
  return text === null ? <Tree value={value} depth={2} /> : <>{text}</>;
}

export function Table({ name, rows }: { name: string; rows: readonly Row[] }) {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((field) =>
    rows.some((row) => row[field] !== null && row[field] !== undefined && row[field] !== ''),
  );
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={heading(name) || 'Table'}>
      <table>
        <thead><tr>{fields.map((field) => <th key={field} scope="col">{heading(field)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {fields.map((field) => <td key={field} className={typeof row[field] === 'number' ? 'number' : ''}><Cell value={row[field]} /></td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
