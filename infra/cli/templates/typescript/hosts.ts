/** Verifies the tokens that hosts sign. Whose it is says `context.user.userName` in the executor. */

import { type User, UnauthenticatedUser } from '@a2a-js/sdk/server';
import type { Request, RequestHandler } from 'express';
import { createLocalJWKSet, decodeJwt, errors, jwtVerify } from 'jose';

/** Characters: a host's token has a few hundred. */
const TOKEN_MAX = 8192;

/** The hosts of the system whose list of endpoints this is, for an agent at this URL. */
export class Hosts {
  #callers = new WeakMap<Request, User>();

  constructor(private url: () => string, private endpoints: () => Promise<{ idp: string }>) {}

  /** Lets nobody on whose token is no good. */
  admit: RequestHandler = async (request, response, next) => {
    const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ');
    // Whoever calls without a token is nobody, and may ask. Refuse them here where nobody may.
    if (scheme.toLowerCase() !== 'bearer') return next();
    try {
      const userName = await this.#verified(token);
      this.#callers.set(request, { isAuthenticated: true, userName });
    } catch (error) {
      // A host that reads of an expired token tries once more with a new one.
      const said = error instanceof errors.JWTExpired ? 'token has expired' : 'the token is not valid here';
      response.set('www-authenticate', `Bearer error="invalid_token", error_description="${said}"`);
      response.status(401).json({ error: 'invalid_token', error_description: said });
      return;
    }
    next();
  };

  /** Who calls, for the SDK. */
  caller = async (request: Request): Promise<User> => this.#callers.get(request) ?? new UnauthenticatedUser();

  async #verified(token: string): Promise<string> {
    if (token.length > TOKEN_MAX) throw new Error("no host's token is as long");
    // Which tenant it says that it is of. Nothing of this is true until that tenant's keys have verified it.
    const { tenant_id: tenant } = decodeJwt(token);
    if (typeof tenant !== 'string' || !/^[a-z0-9-]+$/.test(tenant)) throw new Error('no tenant is called so');
    const { idp } = await this.endpoints();
    const vouched = await fetch(`${idp.replace(/\/$/, '')}/${tenant}/sessions.json`);
    if (!vouched.ok) throw new Error(`nobody vouches for ${tenant}`);
    const { issuer, keys } = await vouched.json();
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys }), {
      algorithms: ['ES256'], typ: 'at+jwt', issuer, audience: this.url(), requiredClaims: ['exp', 'sub'], clockTolerance: 60,
    });
    return `${tenant}/${payload.sub}`;
  }
}
