// Any JSON as a tree that folds.

const MANY = 200;

export function Tree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const label = name === undefined ? null : <span className="tree-name">{name}: </span>;
  if (value === null || typeof value !== 'object') {
    return <div className="tree-leaf">{label}<span className={`tree-${value === null ? 'null' : typeof value}`}>{String(value)}</span></div>;
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) return <div className="tree-leaf">{label}<span>{size}</span></div>;
  return (
    <details className="tree" open={depth === 0 || (depth < 2 && entries.length <= 20)}>
      <summary>{label}<span className="tree-size">{size}</span></summary>
      {depth > 20 ? <pre>{JSON.stringify(value)}</pre> : entries.slice(0, MANY).map(([key, one]) => <Tree key={key} name={key} value={one} depth={depth + 1} />)}
      {entries.length > MANY ? <div className="tree-leaf">… {entries.length - MANY}</div> : null}
    </details>
  );
}
