// Drives an authorization server with openid-client, as an application that has never heard of ours would.
//
//   node openid-client.mjs < given.json
//
// Given are issuer, client_id, client_secret (null for a public client), redirect_uri, resource, scope, username,
// password. Prints one JSON object with what was done; anything that is not as the RFCs have it ends with a stack and
// exit code 1.

import assert from 'node:assert/strict';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';

const given = JSON.parse(await new Response(process.stdin).text());
const done = {};

/** Somebody at a browser, who signs in and agrees. */
class Person {
  #jar = new Map();

  async #visit(url, options = {}) {
    const headers = new Headers(options.headers);
    const path = new URL(url).pathname;
    const fits = [...this.#jar].filter(([, { below }]) => path.startsWith(below));
    if (fits.length) headers.set('cookie', fits.map(([name, { value }]) => `${name}=${value}`).join('; '));
    const answer = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [pair, ...rest] = line.split(';').map((part) => part.trim());
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      const below = rest.find((part) => part.startsWith('Path='))?.slice(5) ?? '/';
      if (rest.includes('Max-Age=0')) this.#jar.delete(name);
      else this.#jar.set(name, { value, below });
    }
    return answer;
  }

  async follow(start) {
    let url = String(start);
    let options;
    for (let step = 0; step < 12; step += 1) {
      const answer = await this.#visit(url, options);
      options = undefined;
      if (answer.status >= 300 && answer.status < 400) {
        url = new URL(answer.headers.get('location'), url).href;
        if (url.startsWith(given.redirect_uri)) return new URL(url);
        continue;
      }
      const html = await answer.text();
      assert.equal(answer.status, 200, html);
      const form = html.slice(html.indexOf('<form'), html.indexOf('</form>'));
      const value = (tag, name) => unescape(tag.match(new RegExp(` ${name}="([^"]*)"`))?.[1]);
      const tags = [...form.matchAll(/<input[^>]*>/g)].map(([tag]) => tag);
      tags.push(form.match(/<button[^>]*>/)[0]);
      const fields = new URLSearchParams();
      for (const tag of tags) fields.set(value(tag, 'name'), value(tag, 'value') ?? '');
      if (fields.has('password')) {
        fields.set('username', given.username);
        fields.set('password', given.password);
      }
      url = new URL(value(form, 'action'), url).href;
      const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin };
      options = { method: 'POST', headers, body: String(fields) };
    }
    throw new Error('the server never sends the person back');
  }
}

function unescape(text) {
  return text?.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

const configured = (secret) => oidc.discovery(
  new URL(given.issuer), given.client_id, undefined,
  secret ? oidc.ClientSecretBasic(secret) : oidc.None(),
  { execute: [oidc.allowInsecureRequests], algorithm: 'oidc' },
);
const config = await configured(given.client_secret);
const server = config.serverMetadata();
assert.equal(server.issuer, given.issuer);
assert.ok(server.supportsPKCE(), 'S256 is announced');
assert.equal(server.authorization_response_iss_parameter_supported, true);
// Signatures of identity tokens are checked even where TLS would do.
oidc.enableNonRepudiationChecks(config);
done.discovery = true;

const person = new Person();
async function ask() {
  const checks = {
    pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
    expectedState: oidc.randomState(),
    expectedNonce: oidc.randomNonce(),
    idTokenExpected: true,
  };
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: given.redirect_uri,
    scope: given.scope,
    resource: given.resource,
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { back: await person.follow(url), checks };
}
const redeem = ({ back, checks }, changes = {}) =>
  oidc.authorizationCodeGrant(config, back, { ...checks, ...changes });
async function refused(error, doing) {
  await assert.rejects(doing, (fault) => {
    assert.equal(fault.error, error, fault.stack);
    return true;
  });
  return true;
}

const keys = createRemoteJWKSet(new URL(server.jwks_uri));
async function verify(token) {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: given.issuer, audience: given.resource, typ: 'at+jwt',
    requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
  });
  assert.ok(['ES256', 'RS256'].includes(protectedHeader.alg));
  assert.ok(payload.exp - payload.iat <= 600);
  return payload;
}

let asked = await ask();
// RFC 9207: openid-client itself refuses an answer without iss, or of another.
assert.equal(asked.back.searchParams.get('iss'), given.issuer);
for (const iss of [null, 'https://elsewhere.example']) {
  const back = new URL(asked.back);
  if (iss) back.searchParams.set('iss', iss);
  else back.searchParams.delete('iss');
  await assert.rejects(() => redeem({ ...asked, back }), (fault) => /"iss"/.test(fault.cause?.message));
}
done.iss = true;
let token = await redeem(asked);
const payload = await verify(token.access_token);
assert.equal(token.claims().sub, payload.sub);
done.code = true;
done.jwks = true;
const told = await oidc.fetchUserInfo(config, token.access_token, payload.sub);
assert.equal(told.sub, payload.sub);
done.userinfo = true;

done.replayed_code = await refused('invalid_grant', () => redeem(asked));
done.replay_revokes = await refused('invalid_grant', () => oidc.refreshTokenGrant(config, token.refresh_token));

asked = await ask();
done.wrong_verifier = await refused('invalid_grant', () =>
  redeem(asked, { pkceCodeVerifier: oidc.randomPKCECodeVerifier() }));
await refused('invalid_grant', () => redeem(asked));

token = await redeem(await ask());
const second = await oidc.refreshTokenGrant(config, token.refresh_token);
await verify(second.access_token);
assert.notEqual(second.refresh_token, token.refresh_token);
done.refresh = true;
done.reused_refresh = await refused('invalid_grant', () => oidc.refreshTokenGrant(config, token.refresh_token));
done.reuse_revokes = await refused('invalid_grant', () => oidc.refreshTokenGrant(config, second.refresh_token));

token = await redeem(await ask());
await oidc.tokenRevocation(config, token.refresh_token, { token_type_hint: 'refresh_token' });
done.revoked_refresh = await refused('invalid_grant', () => oidc.refreshTokenGrant(config, token.refresh_token));

if (given.client_secret) {
  token = await redeem(await ask());
  for (const text of [token.access_token, token.refresh_token]) {
    const state = await oidc.tokenIntrospection(config, text);
    assert.equal(state.active, true);
    assert.equal(state.iss, given.issuer);
  }
  await oidc.tokenRevocation(config, token.refresh_token);
  assert.deepEqual({ ...await oidc.tokenIntrospection(config, token.refresh_token) }, { active: false });
  done.introspection = true;
  const own = await oidc.clientCredentialsGrant(config, { scope: 'tasks', resource: given.resource });
  assert.equal((await verify(own.access_token)).sub, given.client_id);
  done.client_credentials = true;
  const wrong = await configured('x'.repeat(40));
  // A 401 with a challenge is an error of its own kind here.
  await assert.rejects(
    () => oidc.clientCredentialsGrant(wrong, { scope: 'tasks', resource: given.resource }),
    (fault) => fault.error === 'invalid_client' || fault.cause?.some?.(({ scheme }) => scheme === 'basic'),
  );
  done.wrong_secret = true;
}
console.log(JSON.stringify(done));
