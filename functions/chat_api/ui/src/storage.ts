// What the browser keeps: messages that have not left yet (IndexedDB), and drafts (local storage). All of it is the tenant's
// own, by its base: several tenants may lie on one origin.

import { root } from './api.ts';
import { looksLikeCode } from './codes.ts';

/** A message that the user has sent and the server has not taken yet. */
export interface Entry {
  id: string;
  chat: string;
  text: string;
  taskId?: string;
  /** The agent that it is for. */
  model?: string;
  at: number;
}

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
    const request = indexedDB.open(`switchyard:${root}`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(store, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser stores nothing'));
  });
  return opened;
}

async function entries(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  return (await database()).transaction(store, mode).objectStore(store);
}

export const outbox = {
  /** Keeps it; codes only live in this tab's memory. */
  async put(entry: Entry): Promise<void> {
    if (looksLikeCode(entry.text)) return;
    await promised((await entries('readwrite')).put(entry));
  },
  async remove(id: string): Promise<void> {
    await promised((await entries('readwrite')).delete(id));
  },
  async has(id: string): Promise<boolean> {
    return (await promised((await entries('readonly')).count(id))) > 0;
  },
  /** All of them, oldest first. */
  async all(): Promise<Entry[]> {
    const found: Entry[] = await promised((await entries('readonly')).getAll());
    return found.sort((one, two) => one.at - two.at);
  },
};

const draftOf = (chat: string) => `switchyard:${root}:draft:${chat}`;

/** Forgets what was written here and has not left: whoever comes next is somebody else. */
export async function forget(): Promise<void> {
  try {
    for (const name of Object.keys(localStorage)) if (name.startsWith(draftOf(''))) localStorage.removeItem(name);
    for (const { id } of await outbox.all()) await outbox.remove(id);
  } catch {
    // A browser that stores nothing has nothing to forget.
  }
}

export const drafts = {
  get(chat: string): string {
    try {
      return localStorage.getItem(draftOf(chat)) ?? '';
    } catch {
      return '';
    }
  },
  set(chat: string, text: string): void {
    try {
      if (text && !looksLikeCode(text)) localStorage.setItem(draftOf(chat), text);
      else localStorage.removeItem(draftOf(chat));
    } catch {
      // A browser that stores nothing: the draft lives as long as the page.
    }
  },
};
