// Whether this browser is told when a task finishes while no page is open (Web Push), and the way in and out of that.

import { z } from 'zod';
import { get, root, send } from '../api.ts';

/** `elsewhere`: the browser could, once the page is on the home screen. */
export type Standing = 'unsupported' | 'elsewhere' | 'denied' | 'on' | 'off';

const Told = z.object({ key: z.string(), on: z.boolean() });

const isApple = /iPhone|iPad/.test(navigator.userAgent);
const isSupported = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

/** So long the service worker may take to be there. */
const PATIENCE = 10_000;

function base64url(bytes: ArrayBuffer | null): string {
  const text = String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0)));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** What the server knows a subscription by. */
async function idOf({ endpoint }: PushSubscription): Promise<string> {
  return base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint)));
}

async function worker(): Promise<ServiceWorkerRegistration> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('no service worker')), PATIENCE));
  return Promise.race([navigator.serviceWorker.ready, late]);
}

async function own(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration(`${root}/`);
  return (await registration?.pushManager.getSubscription()) ?? null;
}

async function subscribe(key: string, replaces?: string): Promise<void> {
  const { pushManager } = await worker();
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await send('PUT', 'push', { ...subscription.toJSON(), replaces });
}

const withoutOne = (): Standing => (Notification.permission === 'denied' ? 'denied' : 'off');

/**
 * How it stands. A subscription that is not that of whoever is here is given up, as what it tells is nobody's business here; one for an
 * older key of the server's is made anew.
 */
export async function look(): Promise<Standing> {
  if (!isSupported) return isApple ? 'elsewhere' : 'unsupported';
  const subscription = await own();
  if (!subscription) return withoutOne();
  const id = await idOf(subscription);
  const { key, on } = await get(`push?id=${id}`, Told);
  if (!on) {
    await subscription.unsubscribe();
    return withoutOne();
  }
  if (base64url(subscription.options.applicationServerKey) !== key) {
    await subscription.unsubscribe();
    await subscribe(key, id);
  }
  return 'on';
}

/** Asks for the browser's permission, which only a click may do. */
export async function turnOn(): Promise<Standing> {
  if ((await Notification.requestPermission()) !== 'granted') return withoutOne();
  const { key } = await get('push', Told);
  // One that nobody knows of any more would be given back as it is, whatever the key.
  await (await own())?.unsubscribe();
  await subscribe(key);
  return 'on';
}

export async function turnOff(): Promise<Standing> {
  const subscription = await own();
  if (subscription) {
    const id = await idOf(subscription);
    await subscription.unsubscribe();
    // The server hears of it from the push service otherwise.
    await send('DELETE', `push/${id}`).catch(() => undefined);
  }
  return withoutOne();
}

/** Whoever comes next in this browser is somebody else. */
export async function forgetTold(): Promise<void> {
  if (isSupported) await (await own())?.unsubscribe();
}

/** Keeps what was once wanted here as it should be, where it was wanted at all. */
export async function keepTold(): Promise<void> {
  if (isSupported && Notification.permission === 'granted') await look();
}

const Asked = z.object({ open: z.string().regex(/^\/tasks\/[0-9a-f-]{36}$/) });

/** Tells which view a notification leads to that was clicked while this tab was there. */
export function whenClicked(told: (view: string) => void): () => void {
  if (!isSupported) return () => undefined;
  const heard = ({ data }: MessageEvent) => {
    const asked = Asked.safeParse(data);
    if (asked.success) told(asked.data.open);
  };
  navigator.serviceWorker.addEventListener('message', heard);
  navigator.serviceWorker.startMessages();
  return () => navigator.serviceWorker.removeEventListener('message', heard);
}
