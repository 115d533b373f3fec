// The page's service worker. It keeps files that are named by a hash of what they hold, and opens the page while the server cannot be
// reached. Everything else goes over the network as if it were not there: nothing of a user is ever kept by it.

/** What the page is made of. The server writes it before this file, so that a browser sees another worker when it changes. */
interface Page {
  /** The document, and the headers that it is served with. */
  html: string;
  headers: Record<string, string>;
  /** Its files, of which there are few. */
  files: string[];
}

declare const self: ServiceWorkerGlobalScope & { readonly page: Page };

/** What a notification says: words of the page's catalogue would bring all of it. */
const words = { finished: 'A task finished', waits: 'A task waits for you' };

const { page } = self;
const { scope } = self.registration;
const base = new URL(scope).pathname;
/** Several tenants may lie on one origin. */
const name = `switchyard:${base}`;
const at = (file: string): string => new URL(file, scope).href;

/** The page's own views. What is beside them, such as a sign-in, is no page of ours without a server. */
const view = /^(?:(?:chats|tasks)\/.*|tasks|accounts|ops)?$/;
/** The ways to a consent and back. */
const consent = /^(?:connect\/.*|callback)$/;
const CONSENT = 5 * 60_000;
/** The one by which the tabs tell each other news. */
const channel = new BroadcastChannel(name.replace(/\/$/, ''));
const hashed = /^(?:assets\/[^/]+|(?:brand\.css|logo|manifest\.webmanifest)\?v=[^&]+)$/;

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(name).then((cache) => cache.addAll(page.files.map(at))));
});

// No tab has an older page open any more: its files go.
self.addEventListener('activate', (event) => {
  event.waitUntil(tidy().then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || !request.url.startsWith(scope)) return;
  const path = url.pathname.slice(base.length);
  if (request.mode === 'navigate') {
    if (view.test(path)) event.respondWith(fetch(request).catch(shell));
    // By a copied link, perhaps: the page is to see at once what comes of it.
    if (consent.test(path)) channel.postMessage({ type: 'wake', until: Date.now() + CONSENT });
  } else if (hashed.test(path + url.search)) event.respondWith(kept(event));
});

self.addEventListener('push', (event) => event.waitUntil(told(event.data)));

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.tag));
});

// The browser has another subscription, or none: the server hears of it where it knew the one before as that of whoever is here.
self.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription, newSubscription } = event as ExtendableEvent & Changed;
  event.waitUntil(renew(oldSubscription ?? null, newSubscription ?? null).catch(() => undefined));
});

interface Changed {
  oldSubscription?: PushSubscription | null;
  newSubscription?: PushSubscription | null;
}

const shell = (): Response => new Response(page.html, { headers: page.headers });

const isTask = /^[0-9a-f-]{36}$/;

/** Safari takes the permission away where something is kept back; others let a page speak for itself that is seen. */
const mustShow = /AppleWebKit/.test(navigator.userAgent) && !/Chrom/.test(navigator.userAgent);

const tabs = async (): Promise<WindowClient[]> =>
  (await self.clients.matchAll({ type: 'window', includeUncontrolled: true })).filter(({ url }) => url.startsWith(scope));

async function told(data: PushMessageData | null): Promise<void> {
  let said: { task?: unknown; waits?: unknown } = {};
  try {
    said = data?.json() ?? {};
  } catch {
    // What cannot be read is still something that has happened.
  }
  const task = typeof said.task === 'string' && isTask.test(said.task) ? said.task : '';
  if (!mustShow && (await tabs()).some(({ visibilityState }) => visibilityState === 'visible')) return;
  // Of one task the last word counts, and it makes no new noise.
  await self.registration.showNotification(said.waits === true ? words.waits : words.finished, { tag: task });
}

/** Leads to the task: in a tab that is there, or in a new one. */
async function open(task: string): Promise<void> {
  const view = task ? `tasks/${task}` : 'tasks';
  const [tab] = await tabs();
  if (!tab) {
    await self.clients.openWindow(at(view));
    return;
  }
  await tab.focus().catch(() => undefined);
  if (task) tab.postMessage({ open: `/${view}` });
}

async function renew(before: PushSubscription | null, after: PushSubscription | null): Promise<void> {
  const key = before?.options.applicationServerKey;
  if (!before || !key) return;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(before.endpoint));
  const text = btoa(String.fromCharCode(...new Uint8Array(digest)));
  const replaces = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const known = await fetch(at(`api/push?id=${replaces}`));
  if (!known.ok || (await known.json()).on !== true) return;
  const next = after ?? (await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  const body = JSON.stringify({ ...next.toJSON(), replaces });
  await fetch(at('api/push'), { method: 'PUT', headers: { 'content-type': 'application/json' }, body });
}

async function tidy(): Promise<void> {
  const own = new Set(page.files.map(at));
  const cache = await caches.open(name);
  for (const { url } of await cache.keys()) if (!own.has(url)) await cache.delete(url, { ignoreVary: true });
}

async function kept(event: FetchEvent): Promise<Response> {
  const cache = await caches.open(name);
  const known = await cache.match(event.request.url, { ignoreVary: true });
  if (known) return known;
  const response = await fetch(event.request);
  // What the server takes for another's name is not kept under this one.
  if (response.ok && response.headers.get('cache-control')?.includes('immutable')) {
    event.waitUntil(cache.put(event.request.url, response.clone()).catch(() => undefined));
  }
  return response;
}
