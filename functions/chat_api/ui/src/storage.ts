// What the browser keeps: messages that have not left yet (IndexedDB), and drafts (local storage). All of it is the tenant's
// own, by its base, as several tenants may lie on one origin; and its owner's, by the mark that the server knows them by.

import { root } from './api.ts';
import type { Attached } from './chat/attached.ts';
import { looksLikeCode, mayBecomeCode } from './codes.ts';
import { local } from './parts/local.ts';
import { change, isOf, type Owner, read, written } from './owners.ts';

/** A message that the user has sent and the server has not taken yet. */
export interface Entry {
  id: string;
  chat: string;
  text: string;
  /** The mark of whoever wrote it: it leaves in nobody else's name. */
  owner: string;
  taskId?: string;
  /** The agent that it is for. */
  model?: string;
  files?: Attached[];
  /** It is sent in place of the message of its id. */
  isEdit?: boolean;
  /** What was filled in of a form: data for the agent that asked. */
  form?: Record<string, unknown>;
  at: number;
}

const base = `switchyard:${root}`;
const ownerName = `${base}:owner`;
const drafted = `${base}:draft:`;
const draftOf = (mark: string, chat: string) => `${drafted}${mark}:${chat}`;

/** Whoever was here last, until the server says who it is now. */
let here: Owner = read(local((store) => store.getItem(ownerName)));

/** What was here is forgotten: until it is known who is there now, nothing more is kept. */
let isClosed = false;

const store = 'messages';

function promised<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser stores nothing'));
  });
}

let opened: Promise<IDBDatabase> | undefined;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    // The one of before says of no message whose it is.
    indexedDB.deleteDatabase(base);
    const request = indexedDB.open(`${base}:2`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(store, { keyPath: 'id' });
    request.onsuccess = () => {
      request.result.onclose = () => {
        opened = undefined;
      };
      resolve(request.result);
    };
    request.onerror = () => reject(request.error ?? new Error('the browser stores nothing'));
  });
  return opened;
}

async function entries(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  return (await database()).transaction(store, mode).objectStore(store);
}

async function kept(): Promise<Entry[]> {
  return promised((await entries('readonly')).getAll());
}

export const outbox = {
  /** Keeps it; codes only live in this tab's memory. */
  async put(entry: Entry): Promise<void> {
    if (isClosed || looksLikeCode(entry.text)) return;
    await promised((await entries('readwrite')).put(entry));
  },
  async remove(id: string): Promise<void> {
    await promised((await entries('readwrite')).delete(id));
  },
  /** All of whoever is there, oldest first. */
  async all(): Promise<Entry[]> {
    const found = (await kept()).filter(({ owner }) => isOf(owner, here));
    return found.sort((one, two) => one.at - two.at);
  },
};

export const drafts = {
  get(chat: string): string {
    return local((store) => store.getItem(draftOf(here.mark, chat))) ?? '';
  },
  set(chat: string, text: string): void {
    const name = draftOf(here.mark, chat);
    // A browser that stores nothing: the draft lives as long as the page.
    local((store) => (text && !isClosed && !mayBecomeCode(text) ? store.setItem(name, text) : store.removeItem(name)));
  },
};

const draftNames = (): string[] => (local((store) => Object.keys(store)) ?? []).filter((name) => name.startsWith(drafted));

/** Forgets what is not theirs who is there. */
async function forgetOthers(): Promise<void> {
  const own = draftOf(here.mark, '');
  for (const name of draftNames()) if (!name.startsWith(own)) local((store) => store.removeItem(name));
  try {
    for (const { id, owner } of await kept()) if (!isOf(owner, here)) await outbox.remove(id);
  } catch {
    // A browser that stores nothing has nothing to forget.
  }
}

/** Forgets what was written here and has not left: whoever comes next is somebody else. */
export async function forget(): Promise<void> {
  isClosed = true;
  for (const name of [...draftNames(), ownerName]) local((store) => store.removeItem(name));
  try {
    await promised((await entries('readwrite')).clear());
  } catch {
    // A browser that stores nothing has nothing to forget.
  }
}

export const owner = {
  /** What whoever is there is known by. */
  get mark(): string {
    return here.mark;
  },
  /** The server has seen nobody here yet: the next message makes a guest. */
  get isNobody(): boolean {
    return here.mark === '';
  },
  /** Takes note of who is there; true where that is somebody else than before. */
  async learn(now: Owner): Promise<boolean> {
    const changed = change(here, now);
    here = now;
    isClosed = false;
    if (changed === 'same') return false;
    local((store) => (now.mark ? store.setItem(ownerName, written(now)) : store.removeItem(ownerName)));
    if (changed === 'grown') {
      const before = draftOf('', '');
      for (const name of draftNames().filter((name) => name.startsWith(before))) {
        local((store) => store.setItem(draftOf(now.mark, name.slice(before.length)), store.getItem(name) ?? ''));
        local((store) => store.removeItem(name));
      }
      return false;
    }
    await forgetOthers();
    return true;
  },
  /** Tells when another tab has learned of somebody else. */
  elsewhere(told: () => void): () => void {
    const heard = ({ key }: StorageEvent) => {
      if (key === ownerName || key === null) told();
    };
    addEventListener('storage', heard);
    return () => removeEventListener('storage', heard);
  },
};
