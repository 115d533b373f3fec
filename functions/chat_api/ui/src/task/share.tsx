// A finished task as a link: what is shared and for how long, whose words are asked about again, and the end of it.

import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { z } from 'zod';
import { ApiError, get, send } from '../api.ts';
import type { Task } from '../model.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { messageOf, Problem } from '../parts/doing.tsx';
import { keys, queries, useSession } from '../queries.ts';
import { wholeTime, words } from '../words.ts';

const Share = z.object({ endsAt: z.string() });
const Shared = z.object({ share: Share.nullable() });
const Made = Share.extend({ link: z.string() });
const Asked = z.array(z.object({ id: z.string(), name: z.string() }));

const pathOf = (task: Task) => `tasks/${encodeURIComponent(task.id)}/share`;

interface Shown {
  task: Task;
  close: () => void;
}

/** The link is told once: whoever closes the dialog makes another. */
function Sharing({ task, close }: Shown) {
  const name = useId();
  const [link, setLink] = useState('');
  const [asked, setAsked] = useState<z.infer<typeof Asked>>([]);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const { data: session } = useSession();
  const key = keys.share(task.id);
  const { data } = useQuery({ queryKey: key, staleTime: 0, queryFn: ({ signal }) => get(pathOf(task), Shared, signal) });
  const share = data?.share ?? null;
  const run = async (change: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    try {
      await change();
    } catch (error) {
      if (error instanceof ApiError && error.code === 'agents_ask_again') setAsked(Asked.catch([]).parse(error.more.agents));
      else setProblem(messageOf(error));
    } finally {
      await queries.invalidateQueries({ queryKey: key });
      setBusy(false);
    }
  };
  const make = () =>
    run(async () => {
      const response = await send('POST', pathOf(task), { agreed: asked.map(({ id }) => id) });
      setLink(Made.parse(await response.json()).link);
      setAsked([]);
    });
  const end = () =>
    run(async () => {
      await send('DELETE', pathOf(task));
      setLink('');
    });
  const isGuest = session?.who !== 'person';
  return (
    <Dialog onClose={close} aria-labelledby={name}>
      <div className="asked share">
        <h2 id={name}>{words.shareTitle}</h2>
        <p className="soft">{words.shareWhat}</p>
        {share ? <p role="status">{words.sharedUntil} <time dateTime={share.endsAt}>{wholeTime(share.endsAt)}</time></p> : null}
        {link ? (
          <p className="share-link">
            <input readOnly value={link} aria-label={words.shareLink} onFocus={({ target }) => target.select()} />
            <CopyButton text={link} />
          </p>
        ) : null}
        {link ? <p className="soft">{words.shareOnce}</p> : null}
        {asked.length > 0 ? (
          <div role="alert">
            <p>{words.shareAsks}</p>
            <ul>{asked.map((one) => <li key={one.id}>{one.id === '*' ? words.shareOthers : one.name}</li>)}</ul>
          </div>
        ) : null}
        {isGuest ? <p>{words.shareSignIn}</p> : null}
        <Problem text={problem} />
        <div className="asked-row">
          {share ? <button type="button" className="danger" disabled={isBusy} onClick={() => void end()}>{words.shareEnd}</button> : null}
          <button type="button" onClick={close}>{words.close}</button>
          {link || isGuest ? null : (
            <button type="button" className="primary" disabled={isBusy} onClick={() => void make()}>
              {asked.length > 0 ? words.shareAnyway : share ? words.shareAgain : words.shareMake}
            </button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

/** Only where the tenant lets people share, of what was completed by an agent. */
export function ShareButton({ task }: { task: Task }) {
  const [isOpen, open] = useState(false);
  const { data: session } = useSession();
  if (!session?.sharing || task.status !== 'completed' || task.jobs.length === 0) return null;
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => open(true)}>{words.share}</button>
      {isOpen ? <Sharing task={task} close={() => open(false)} /> : null}
    </>
  );
}
