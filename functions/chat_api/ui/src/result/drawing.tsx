// Drawings come after the words: each is loaded once a result needs one, and where that fails the words are enough.

import { Component, lazy, type ReactNode, Suspense } from 'react';

export const Chart = lazy(() => import('./drawn.ts').then(({ Chart }) => ({ default: Chart })));
export const Places = lazy(() => import('./drawn.ts').then(({ Places }) => ({ default: Places })));

class Quiet extends Component<{ children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false };
  static getDerivedStateFromError() {
    return { isBroken: true };
  }
  override render() {
    return this.state.isBroken ? null : this.props.children;
  }
}

export function Drawing({ children }: { children: ReactNode }) {
  return <Quiet><Suspense fallback={<div className="drawing" />}>{children}</Suspense></Quiet>;
}
