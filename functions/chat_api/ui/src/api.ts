// Calls of the chat API. All addresses are relative to the tenant's base, which the server wrote into <base>.

import { z } from 'zod';
import { words } from './words.ts';

/** The tenant's base as a path, without a slash at its end. */
export const root = new URL(document.baseURI).pathname.replace(/\/+$/, '');

/** The tenant's name, for people. */
export const tenant = document.querySelector<HTMLMetaElement>('meta[name=tenant]')?.content ?? '';

/** What the page calls itself. */
export const product = document.querySelector<HTMLMetaElement>('meta[name=product]')?.content || 'Switchyard';

/** The address of the tenant's own logo, where it has one. */
export const ownLogo = document.querySelector<HTMLMetaElement>('meta[name=logo]')?.content ?? '';

export function at(path: string): string {
  return `${root}/api/${path}`;
}

/** The server refused, and said why. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** What else it said. */
  readonly more: Record<string, unknown>;
  constructor(status: number, code: string, message: string, more: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.more = more;
  }

  /** Whether the same request may do better later. */
  get mayPass(): boolean {
    // A limit that is used up does not pass within a page's patience: its user is told, and sends again.
    return this.status >= 500 || this.status === 408 || (this.status === 429 && this.code !== 'over_quota');
  }
}

let signedOut = () => {};

/** Told whenever the server lets nobody in who has not signed in. */
export function whenSignedOut(told: () => void): void {
  signedOut = told;
}

const Problem = z.looseObject({ error: z.string(), message: z.string() });

/** What an answer says that is not 2xx. */
export async function refusal(response: Response): Promise<ApiError> {
  const body = Problem.safeParse(await response.json().catch(() => null));
  const { error, message, ...more } = body.success
    ? body.data
    : { error: 'unknown', message: `The server answered ${response.status}.` };
  if (response.status === 401) signedOut();
  // A change that wants a sign-in of late: the person proves who they are, and comes back to this view.
  if (error === 'sign_in_again') location.assign(`${root}/signin?prompt=login&return=${encodeURIComponent(location.pathname.slice(root.length + 1))}`);
  return new ApiError(response.status, error, message, more);
}

export async function call(path: string, options?: RequestInit): Promise<Response> {
  const response = await fetch(at(path), options).catch((error: unknown) => {
    // The browser's own words for it help nobody.
    throw error instanceof TypeError ? new Error(words.unreachable, { cause: error }) : error;
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get<T>(path: string, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
  const response = await call(path, signal ? { signal } : {});
  const read = schema.safeParse(await response.json().catch(() => undefined));
  if (!read.success) throw new Error(words.unreadableAnswer, { cause: read.error });
  return read.data;
}

export function send(method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body: unknown = {}): Promise<Response> {
  return call(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}
