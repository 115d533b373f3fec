// Somebody else's OpenID provider (npm's oidc-provider), that people sign in to the chat at. It tells its address in a line of JSON once
// it listens, and ends when its standard input ends.
//
//   node oidc-provider.mjs CLIENT_ID CLIENT_SECRET BASE [PORT]      BASE: the tenant's chat
//
// Beside the provider itself it serves what a test needs:
//   POST /test/rotate                       other keys from now on
//   POST /test/down?is=true                 answers nothing but 503
//   POST /test/forget                       nobody is signed in here any more
//   POST /test/logout?login=ada             tells the chat that ada has signed out, in each of her sessions here
import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import Provider from 'oidc-provider';

// Nobody reads what the library says of its defaults, and nobody may be held up by it.
console.info = console.warn = () => {};
process.stdout.on('error', () => {});

const [clientId, clientSecret, base, port = '0'] = process.argv.slice(2);

const newKey = () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
};

/** What is kept outlives a change of keys. */
const kept = new Map();
class Adapter {
  constructor(kind) { this.kind = kind; }
  key(id) { return `${this.kind}:${id}`; }
  async upsert(id, payload) { kept.set(this.key(id), payload); }
  async find(id) { return kept.get(this.key(id)); }
  async findByUid(uid) { return [...kept].find(([key, value]) => key.startsWith(`${this.kind}:`) && value.uid === uid)?.[1]; }
  async findByUserCode() {}
  async consume(id) { const found = kept.get(this.key(id)); if (found) found.consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { kept.delete(this.key(id)); }
  async revokeByGrantId(grantId) { for (const [key, value] of kept) if (value.grantId === grantId) kept.delete(key); }
}

const people = {
  ada: { name: 'Ada Elsewhere', preferred_username: 'ada@elsewhere.example', groups: ['staff', 'chat-admins'] },
  bob: { name: 'Bob Elsewhere', preferred_username: 'ada', groups: ['staff'] },
};

let issuer;
let provider;
let keys = [newKey()];
let isDown = false;

const start = () => {
  provider = new Provider(issuer, {
    adapter: Adapter,
    clients: [{
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [`${base}/signin/callback`],
      post_logout_redirect_uris: [`${base}/`],
      backchannel_logout_uri: `${base}/signin/backchannel`,
      backchannel_logout_session_required: true,
      require_auth_time: true,
      grant_types: ['authorization_code'],
      response_types: ['code'],
    }],
    jwks: { keys },
    cookies: { keys: ['for the tests alone'] },
    claims: { openid: ['sub', 'groups', 'acr', 'amr', 'auth_time'], profile: ['name', 'preferred_username'] },
    conformIdTokenClaims: false,
    acrValues: ['urn:test:two-factors'],
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    // A machine under load may take longer than the library's 2.5 seconds.
    httpOptions: () => ({ signal: AbortSignal.timeout(30_000) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    async findAccount(_, sub) {
      return people[sub] && { accountId: sub, claims: async () => ({ sub, ...people[sub] }) };
    },
    // Nobody is asked for consent here.
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  });
};

const body = async (request) => {
  let text = '';
  for await (const part of request) text += part;
  return new URLSearchParams(text);
};

async function interaction(request, response, url) {
  const details = await provider.interactionDetails(request, response);
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html');
    response.end(`<form method="post" action="${url.pathname}"><input name="login"><input name="amr"><button>Sign in (${details.prompt.name})</button></form>`);
    return;
  }
  const form = await body(request);
  const amr = form.get('amr') ? form.get('amr').split(' ') : ['pwd'];
  const login = { accountId: form.get('login'), amr, acr: amr.includes('otp') ? 'urn:test:two-factors' : undefined };
  await provider.interactionFinished(request, response, { login });
}

async function test(response, url) {
  if (url.pathname === '/test/rotate') {
    keys = [newKey()];
    start();
  } else if (url.pathname === '/test/down') {
    isDown = url.searchParams.get('is') === 'true';
  } else if (url.pathname === '/test/forget') {
    for (const key of kept.keys()) if (key.startsWith('Session:')) kept.delete(key);
  } else if (url.pathname === '/test/logout') {
    const client = await provider.Client.find(clientId);
    const login = url.searchParams.get('login');
    const own = [...kept].filter(([key, value]) => key.startsWith('Session:') && value.accountId === login);
    for (const [, session] of own) await client.backchannelLogout(login, session.authorizations[clientId].sid);
  }
  response.end('{}');
}

const server = createServer((request, response) => {
  const url = new URL(request.url, issuer);
  const answer = async () => {
    if (url.pathname.startsWith('/test/')) return test(response, url);
    if (isDown) {
      response.statusCode = 503;
      return response.end('down');
    }
    if (url.pathname.startsWith('/interaction/')) return interaction(request, response, url);
    return provider.callback()(request, response);
  };
  answer().catch((error) => {
    response.statusCode = 500;
    response.end(String(error?.stack ?? error));
  });
});

server.listen(Number(port), '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  start();
  console.log(JSON.stringify({ issuer }));
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
