// Has the browser run the page's service worker (`worker/worker.ts`), where it can.

import { root } from './api.ts';

/** As far as it is used here: no type of the language knows it yet. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (asked: string) => string }): { createScriptURL: (asked: string) => string };
}

/** The one address that the policy lets become a script; its name stands in the Content-Security-Policy. */
function trusted(url: string): string {
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('switchyard-worker', {
    createScriptURL: (asked) => {
      if (asked !== url) throw new TypeError('not the service worker');
      return asked;
    },
  });
  return policy?.createScriptURL(url) ?? url;
}

/** After all that the first view needs. Without it the page is the same, as long as the server can be reached. */
export function serveOffline(): void {
  if (!('serviceWorker' in navigator)) return;
  const register = () => navigator.serviceWorker.register(trusted(`${root}/worker.js`)).catch(() => undefined);
  if (document.readyState === 'complete') void register();
  else addEventListener('load', () => void register(), { once: true });
}
