// What every view shows while it has nothing else to show.

import { Component, type ReactNode } from 'react';
import { Link } from 'wouter';
import { words } from '../words.ts';
import { Tree } from '../result/tree.tsx';

export function Loading() {
  return (
    <div className="skeleton" role="status" aria-label={words.loading}>
      <span /><span /><span />
    </div>
  );
}

export function Failed({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div className="notice" role="alert">
      <p>{words.failed} {error instanceof Error ? error.message : ''}</p>
      <button type="button" onClick={retry}>{words.tryAgain}</button>
    </div>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** What was asked for; until it is there, that it comes, or that it cannot. */
export function Shown<T>({ of: { data, error, refetch }, children }: { of: Asked<T>; children: (data: T) => ReactNode }) {
  if (data !== undefined) return children(data);
  return error ? <Failed error={error} retry={() => void refetch()} /> : <Loading />;
}

/** There is nothing of it yet, and how it comes. */
export function Empty({ text }: { text: string }) {
  return (
    <div className="empty">
      <p>{text}</p>
      <Link className="button" href="/">{words.home}</Link>
    </div>
  );
}

export function Gone() {
  return (
    <div className="empty">
      <h1>{words.goneTitle}</h1>
      <p>{words.gone}</p>
      <Link className="button" href="/">{words.home}</Link>
    </div>
  );
}

interface Guarded {
  /** What is shown as it is where drawing it fails. */
  value: unknown;
  children: ReactNode;
}

/** What cannot be drawn is shown as what it holds, and takes nothing else with it. */
export class Boundary extends Component<Guarded, { isBroken: boolean }> {
  override state = { isBroken: false };
  static getDerivedStateFromError() {
    return { isBroken: true };
  }
  override render() {
    if (!this.state.isBroken) return this.props.children;
    return (
      <div className="broken">
        <p>{words.broken}</p>
        <Tree value={this.props.value} />
      </div>
    );
  }
}
