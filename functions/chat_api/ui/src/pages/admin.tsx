// What a tenant's admin looks after: its users with their roles, and its settings.

import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { z } from 'zod';
import { get, send } from '../api.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Sure } from '../parts/dialog.tsx';
import { Problem, useDoing } from '../parts/doing.tsx';
import { Grid } from '../parts/grid.tsx';
import { Shown } from '../parts/states.tsx';
import { queries } from '../queries.ts';
import { named, say, words } from '../words.ts';
import { WhoIsIn } from './access.tsx';

const User = z.looseObject({ username: z.string(), displayName: z.string(), roles: z.array(z.string()) });
type User = z.infer<typeof User>;
const Users = z.object({ users: z.array(User), nextCursor: z.string().nullish() });
const Password = z.looseObject({ username: z.string(), password: z.string() });
const Settings = z.record(z.string(), z.string().nullable());

const keys = { users: ['admin', 'users'] as const, settings: ['admin', 'settings'] as const };
const roles = ['operator', 'admin'] as const;
/** What a setting can be, where that is a list. */
const choices: Record<string, readonly string[]> = { share: ['on', 'off'], pause: ['on', 'off'], timeZone: Intl.supportedValuesOf('timeZone') };
const of = (username: string, verb = ''): string => `admin/users/${encodeURIComponent(username)}${verb && `/${verb}`}`;

type Told = z.infer<typeof Password> | null;

function Row({ user, tell }: { user: User; tell: (told: Told) => void }) {
  const { run, isBusy, problem } = useDoing();
  const change = (by: () => Promise<unknown>) => void run(() => by().then(() => queries.invalidateQueries({ queryKey: keys.users })));
  const name = user.displayName || user.username;
  const reset = async () => tell(Password.parse(await (await send('POST', of(user.username, 'reset'))).json()));
  return (
    <tr>
      <td>{name}<Problem text={problem} /></td>
      <td><code>{user.username}</code></td>
      {roles.map((role) => {
        const has = user.roles.includes(role);
        const next = has ? user.roles.filter((one) => one !== role) : [...user.roles, role];
        return <td key={role}><input type="checkbox" checked={has} disabled={isBusy} aria-label={`${words[role]}: ${name}`} onChange={() => change(() => send('PATCH', of(user.username), { roles: next }))} /></td>;
      })}
      <td className="card-row">
        <Sure does={words.endSignIns} to={name} disabled={isBusy} then={() => change(() => send('POST', of(user.username, 'end')))} />
        <Sure does={words.newPassword} to={name} disabled={isBusy} then={() => change(reset)} />
        <Sure does={words.remove} to={name} disabled={isBusy} then={() => change(() => send('DELETE', of(user.username)))} />
      </td>
    </tr>
  );
}

function People() {
  const asked = useQuery({ queryKey: keys.users, queryFn: ({ signal }) => get('admin/users', Users, signal) });
  const { run, problem } = useDoing();
  const [told, tell] = useState<Told>(null);
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const [username, displayName] = ['username', 'displayName'].map((name) => String(new FormData(form).get(name) ?? '').trim());
    void run(async () => {
      tell(Password.parse(await (await send('POST', 'admin/users', { username, ...(displayName ? { displayName } : {}) })).json()));
      form.reset();
      await queries.invalidateQueries({ queryKey: keys.users });
    });
  };
  return (
    <>
      <h2>{words.users}</h2>
      {told ? <p className="where" role="status">{say('passwordOf', { username: told.username })} <code>{told.password}</code> <CopyButton text={told.password} /></p> : null}
      <Shown of={asked}>{({ users }) => (
        <Grid label={words.users} heads={[words.name, words.username, words.operator, words.admin, words.action]}>{users.map((user) => <Row key={user.username} user={user} tell={tell} />)}</Grid>
      )}</Shown>
      <form className="asked-form" onSubmit={add} aria-label={words.addUser}>
        <label>{words.username}<input name="username" required maxLength={64} autoComplete="off" /></label>
        <label>{words.name}<input name="displayName" maxLength={80} autoComplete="off" /></label>
        <button type="submit">{words.addUser}</button>
        <Problem text={problem} />
      </form>
    </>
  );
}

function TenantSettings() {
  const asked = useQuery({ queryKey: keys.settings, queryFn: ({ signal }) => get('admin/settings', Settings, signal) });
  const { run, isBusy, problem } = useDoing();
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const written = new FormData(event.currentTarget);
    const values = Object.keys(asked.data ?? {}).map((name) => [name, String(written.get(name) ?? '').trim() || null] as const);
    const changed = values.filter(([name, value]) => value !== asked.data?.[name]);
    if (changed.length > 0) void run(async () => queries.setQueryData(keys.settings, Settings.parse(await (await send('PATCH', 'admin/settings', Object.fromEntries(changed))).json())));
  };
  return (
    <>
      <h2>{words.settings}</h2>
      <Shown of={asked}>{(settings) => (
        <form className="asked-form" onSubmit={save} aria-label={words.settings}>
          {Object.entries(settings).map(([name, value]) => (
            <label key={`${name} ${value}`}>
              {named('settingNames', name)}
              {choices[name]
                ? <select name={name} defaultValue={value ?? ''}>{[...new Set(['', value ?? '', ...choices[name]])].map((one) => <option key={one}>{one}</option>)}</select>
                : <input name={name} defaultValue={value ?? ''} maxLength={name === 'shares' ? 4000 : 80} autoComplete="off" />}
            </label>
          ))}
          <button type="submit" className="primary" disabled={isBusy}>{words.save}</button>
          <Problem text={problem} />
        </form>
      )}</Shown>
    </>
  );
}

export const Administration = () => <><People /><WhoIsIn /><TenantSettings /></>;
