// Who is in: people of every issuer with what leads to their things, for an admin to end.

import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { z } from 'zod';
import { get, send } from '../api.ts';
import { Sure } from '../parts/dialog.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Grid } from '../parts/grid.tsx';
import { Shown } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { queries } from '../queries.ts';
import { say, words } from '../words.ts';

const Thing = z.looseObject({ id: z.string(), since: z.string() });
const Person = z.looseObject({ id: z.string(), issuer: z.string(), username: z.string(), name: z.string().nullish(), isIn: z.boolean(), signedInAt: z.string(), sessions: z.array(Thing), devices: z.array(Thing), shares: z.array(Thing) });
type Person = z.infer<typeof Person>;
const Page = z.object({ people: z.array(Person), nextCursor: z.string().nullish() });
const Connections = z.object({ connections: z.array(z.looseObject({ id: z.string(), provider: z.string(), connectedAt: z.string() })) });
const key = ['admin', 'access'] as const;

function End({ kind, id, of, name, then }: { kind: string; id: string; of?: string; name: string; then: () => unknown }) {
  const { run, isBusy, problem } = useDoing();
  const end = () => run(async () => {
    await send('DELETE', `admin/access/${kind}/${encodeURIComponent(id)}${of ? `?of=${encodeURIComponent(of)}` : ''}`);
    await then();
  });
  return <><Sure does={words.end} to={name} disabled={isBusy} then={end} /><Problem text={problem} /></>;
}

function Row({ person }: { person: Person }) {
  const [connected, tell] = useState<{ id: string; provider: string; connectedAt: string }[]>();
  const { run, problem } = useDoing();
  const again = () => queries.invalidateQueries({ queryKey: key });
  const name = person.name || person.username || person.id;
  const look = () => run(async () => tell((await get(`admin/access/${encodeURIComponent(person.id)}`, Connections)).connections));
  const things = [
    ...person.sessions.map((one) => ({ ...one, kind: 'session', says: words.aSession })),
    ...person.devices.map((one) => ({ ...one, kind: 'device', says: words.aDevice })),
    ...person.shares.map((one) => ({ ...one, kind: 'share', says: words.aShare })),
    ...(connected ?? []).map((one) => ({ id: one.id, since: one.connectedAt, kind: 'connection', says: one.provider })),
  ];
  return (
    <tr>
      <td>{name}<p className="soft">{person.username} · {person.issuer}</p></td>
      <td className="whole"><Time at={person.signedInAt} /></td>
      <td>
        <details onToggle={({ currentTarget }) => { if (currentTarget.open && !connected) void look(); }}>
          <summary>{say('sessionsOpen', { count: person.sessions.length })}</summary>
          <ul>{things.map(({ kind, id, since, says }) => <li key={`${kind} ${id}`}>{says} <Time at={since} /> <End kind={kind} id={id} of={person.id} name={`${says}, ${name}`} then={() => { if (kind === 'connection') void look(); return again(); }} /></li>)}</ul>
          <Problem text={problem} />
        </details>
      </td>
      <td><End kind="person" id={person.id} name={name} then={again} /></td>
    </tr>
  );
}

export function WhoIsIn() {
  const asked = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ signal, pageParam }) => get(`admin/access${pageParam ? `?cursor=${encodeURIComponent(pageParam)}` : ''}`, Page, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextCursor,
  });
  return (
    <>
      <h2>{words.whoIsIn}</h2>
      <Shown of={asked}>{({ pages }) => <Grid label={words.whoIsIn} heads={[words.name, words.signedInAt, words.open, words.action]}>{pages.flatMap(({ people }) => people.map((person) => <Row key={person.id} person={person} />))}</Grid>}</Shown>
      {asked.hasNextPage ? <button type="button" disabled={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>{words.more}</button> : null}
    </>
  );
}
