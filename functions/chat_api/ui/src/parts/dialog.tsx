// A dialog of the browser's own: it keeps the focus, closes by Escape, and lies over everything.

import { type DialogHTMLAttributes, useEffect, useRef } from 'react';

export function Dialog(shown: DialogHTMLAttributes<HTMLDialogElement>) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return <dialog ref={dialog} {...shown} />;
}
