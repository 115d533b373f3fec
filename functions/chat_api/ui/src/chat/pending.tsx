// A message that has not left yet.

import { words } from '../words.ts';
import { FileView } from './files.tsx';
import type { Waiting } from './session.ts';

interface Shown {
  entry: Waiting;
  isBusy: boolean;
  discard: () => void;
  edit: () => void;
  again: () => void;
}

export function Pending({ entry, isBusy, discard, edit, again }: Shown) {
  return (
    <article className="message user pending" aria-label={words.you}>
      <p className="said">{entry.text}</p>
      {entry.files?.map((file, place) => <FileView key={place} name={file.name} media={file.type} size={file.size} at={file.url} />)}
      <p className="pending-why">
        {entry.refused ? <span className="problem" role="alert">{entry.isLimit ? null : `${words.refused}: `}{entry.refused}</span> : isBusy ? words.queued : words.waits}{' '}
        {entry.isLimit ? <button type="button" className="link" onClick={again}>{words.tryAgain}</button> : null}{' '}
        {entry.refused ? <button type="button" className="link" onClick={edit}>{words.edit}</button> : null}{' '}
        <button type="button" className="link" onClick={discard}>{words.discard}</button>
      </p>
    </article>
  );
}
