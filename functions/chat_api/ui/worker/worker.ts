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

const { page } = self;
const { scope } = self.registration;
const base = new URL(scope).pathname;
/** Several tenants may lie on one origin. */
const name = `switchyard:${base}`;
const at = (file: string): string => new URL(file, scope).href;

/** The page's own views. What is beside them, such as a sign-in, is no page of ours without a server. */
const view = /^(?:(?:chats|tasks)\/.*|tasks|accounts|ops)?$/;
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
  } else if (hashed.test(path + url.search)) event.respondWith(kept(event));
});

const shell = (): Response => new Response(page.html, { headers: page.headers });

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
