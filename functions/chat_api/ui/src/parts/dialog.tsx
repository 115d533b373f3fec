// A dialog of the browser's own: it keeps the focus, closes by Escape, and lies over everything.

import { type DialogHTMLAttributes, useEffect, useRef, useState } from 'react';
import { say, words } from '../words.ts';

export function Dialog(shown: DialogHTMLAttributes<HTMLDialogElement>) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return <dialog ref={dialog} {...shown} />;
}

interface Asked {
  /** The deed, in a word. */
  does: string;
  /** What it is done to. */
  to?: string;
  /** What is asked first; else whether it is to be done. */
  asks?: string;
  disabled?: boolean;
  then: () => unknown;
}

/** A button of a deed that others feel: its user is asked before it is done. */
export function Sure({ does, to, asks, disabled = false, then }: Asked) {
  const [isOpen, open] = useState(false);
  const name = to ? `${does}: ${to}` : undefined;
  const question = asks ?? say('sure', { deed: name ?? does });
  return (
    <>
      <button type="button" className="danger" disabled={disabled} aria-haspopup="dialog" aria-label={name} onClick={() => open(true)}>{does}</button>
      {isOpen ? (
        <Dialog onClose={() => open(false)} aria-label={question}>
          <div className="asked">
            <p>{question}</p>
            <div className="asked-row">
              <button type="button" onClick={() => open(false)}>{words.keep}</button>
              <button type="button" className="danger" onClick={() => { open(false); void then(); }}>{does}</button>
            </div>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
