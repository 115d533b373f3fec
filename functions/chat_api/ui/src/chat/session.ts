// One chat as this tab has it: what the server knows of it, what waits to be sent, and the answer under way.
//
// A message leaves one at a time and under the id it was written with, so that a repeat, also after a reload, is the same
// message. When a stream breaks off, the chat comes back to it; when it ends, the server's history replaces what was shown.

import { Chat } from '@ai-sdk/react';
import { ApiError, get, send } from '../api.ts';
import { rest } from '../backoff.ts';
import { cards } from '../live/cards.ts';
import { live } from '../live/live.ts';
import { Card, isActive, Messages } from '../model.ts';
import { teller } from '../parts/teller.ts';
import { messageOf } from '../parts/doing.tsx';
import { askWho, keys, queries } from '../queries.ts';
import { type Entry, outbox, owner } from '../storage.ts';
import type { Attached } from './attached.ts';
import type { Message } from './drafted.ts';
import { joined } from './pages.ts';
import { Transport } from './transport.ts';

/** So many messages of the user are read at once, with their answers. */
const SOME = 50;

export interface Waiting extends Entry {
  /** Why the server would not take it. */
  refused?: string;
  /** It may take it as it is, once there is room. */
  isLimit?: boolean;
}

/** What is said of a message beside its text. */
export interface About {
  /** The task whose card it answers. */
  taskId?: string | undefined;
  /** The agent that it is for. */
  model?: string | undefined;
  files?: Attached[] | undefined;
  /** The message in whose place it is sent. */
  edits?: string | undefined;
  /** What was filled in of a form. */
  form?: Record<string, unknown> | undefined;
}

/** A message as it is sent. */
const partsOf = ({ text, form, files = [] }: Entry): Message['parts'] => [
  { type: 'text', text },
  ...(form ? [{ type: 'data-form' as const, data: form }] : []),
  ...files.map(({ name, type, url }) => ({ type: 'file' as const, mediaType: type, filename: name, url })),
];

export interface Snapshot {
  loading: 'fresh' | 'loading' | 'there' | 'gone' | 'failed';
  waiting: readonly Waiting[];
  progress: string;
  /** The server cannot be reached, and is tried again. */
  isLost: boolean;
  problem: string;
  /** There are messages before those that are shown. */
  hasOlder: boolean;
}

export class Session {
  readonly id: string;
  readonly chat: Chat<Message>;
  #snapshot: Snapshot = { loading: 'fresh', waiting: [], progress: '', isLost: false, problem: '', hasOlder: false };
  readonly #changes = teller();
  #isTaken = false;
  #isDisconnected = false;
  #isDraining = false;
  /** Nothing of it has reached the server yet. */
  #isUnborn = false;
  #isFollowing = false;
  /** Where the messages before those that are shown begin. */
  #older: string | null = null;
  #isReadingOlder = false;
  /** A tab shows it. */
  #isShown = false;
  /** The task whose words are followed while its host writes. */
  #writes: string | null = null;
  /** The stream that is followed is wanted no more. */
  #leaves = false;
  #soon: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
    this.chat = new Chat<Message>({
      id,
      transport: new Transport({
        taken: () => {
          this.#isTaken = true;
          void this.#took();
        },
      }),
      onData: (part) => {
        if (part.type === 'data-progress') this.#set({ progress: part.data.text });
        if (part.type === 'data-task') {
          cards.follow(part.data);
          live.tell({ type: 'card', card: part.data });
        }
      },
      onFinish: ({ isDisconnect }) => {
        this.#isDisconnected = isDisconnect;
      },
    });
    cards.listen((card) => this.#changed(card));
    document.addEventListener('visibilitychange', () => this.#listen());
    addEventListener('online', () => void this.drain());
  }

  /** Whether it is on the page. */
  show(isShown: boolean): void {
    this.#isShown = isShown;
    this.#listen();
  }

  /** Follows the words of an answer while its host writes them: one who looks does, others wait for what is stored. */
  #listen(): void {
    const writing = this.#isShown && document.visibilityState === 'visible' ? this.#tasks().find((id) => cards.isWriting(id)) : undefined;
    if (this.#writes !== null) {
      // The host has handed something over, or nobody looks any more.
      if (writing === this.#writes || (this.#isShown && cards.isOver(this.#writes))) return;
      this.#leaves = true;
      void this.chat.stop();
      return;
    }
    if (writing === undefined || this.isBusy || this.#isFollowing || this.#isDraining) return;
    this.#writes = writing;
    void this.#follow().finally(() => {
      this.#writes = null;
    });
  }

  /** The tasks that the chat has cards of, newest first. */
  #tasks(): string[] {
    return this.chat.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'data-task' ? [part.data.taskId] : []))).reverse();
  }

  subscribe = this.#changes.hear;
  snapshot = (): Snapshot => this.#snapshot;

  #set(change: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    this.#changes.tell();
  }

  get isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  /** Reads the chat from the server, and goes on with what runs. */
  async open(): Promise<void> {
    if (this.#isUnborn) return;
    if (this.#snapshot.loading !== 'fresh' && this.#snapshot.loading !== 'failed') {
      return this.isBusy ? undefined : this.refresh();
    }
    this.#set({ loading: 'loading' });
    await this.readOutbox();
    await this.refresh();
    void this.drain();
    const last = this.chat.messages.at(-1)?.parts.findLast((part) => part.type === 'data-task');
    if (last?.type === 'data-task' && isActive(last.data.state) && !this.isBusy) void this.#follow();
  }

  /** What waits of this chat, from all tabs. */
  async readOutbox(): Promise<void> {
    const kept = (await outbox.all().catch(() => [])).filter(({ chat }) => chat === this.id);
    const here = new Map(this.#snapshot.waiting.map((entry) => [entry.id, entry]));
    const waiting: Waiting[] = kept.map((entry) => here.get(entry.id) ?? entry);
    if (waiting.length > 0 || here.size > 0) this.#set({ waiting });
  }

  /** The server's history in place of what was shown. */
  async refresh(): Promise<void> {
    if (this.#isUnborn) return;
    try {
      const page = await this.#read(null);
      if (this.isBusy) return;
      const all = joined(this.chat.messages, page.messages);
      this.chat.messages = all.messages;
      // What was read before goes on where it went on.
      if (!all.isLonger) this.#older = page.next;
      this.#set({ hasOlder: this.#older !== null });
      this.#set({ loading: 'there', isLost: false });
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 410)) {
        const isNew = this.#snapshot.waiting.length > 0 || this.isBusy || this.#isDraining;
        this.#set({ loading: isNew ? 'there' : 'gone' });
      } else if (this.#snapshot.loading === 'loading') {
        this.#set({ loading: this.#snapshot.waiting.length > 0 ? 'there' : 'failed' });
      }
    }
  }

  /** Reads the messages before those that are shown. */
  async readOlder(): Promise<void> {
    const from = this.#older;
    if (from === null || this.#isReadingOlder) return;
    this.#isReadingOlder = true;
    try {
      const page = await this.#read(from);
      // Meanwhile the history may have been read anew.
      if (this.#older !== from) return;
      const known = new Set(this.chat.messages.map(({ id }) => id));
      this.chat.messages = [...page.messages.filter(({ id }) => !known.has(id)), ...this.chat.messages];
      this.#older = page.next;
      this.#set({ hasOlder: page.next !== null, isLost: false });
    } catch (error) {
      if (error instanceof ApiError && !error.mayPass) this.#older = null;
      this.#set({ hasOlder: this.#older !== null, problem: error instanceof ApiError ? error.message : '' });
    } finally {
      this.#isReadingOlder = false;
    }
  }

  /** Some of the messages, and the cards in them. */
  async #read(from: string | null): Promise<{ messages: Message[]; next: string | null }> {
    const query = new URLSearchParams({ limit: String(SOME), ...(from === null ? {} : { cursor: from }) });
    const { messages, next } = await get(`chats/${encodeURIComponent(this.id)}/messages?${query}`, Messages);
    for (const part of messages.flatMap(({ parts }) => parts)) {
      const card = part.type === 'data-task' ? Card.safeParse(part.data) : null;
      if (card?.success) cards.learn(card.data);
    }
    return { messages: messages as unknown as Message[], next: next ?? null };
  }

  /** Sends what the user says: it is kept until the server has it. */
  async say(text: string, { taskId, model, form, edits, files = [] }: About = {}): Promise<void> {
    if (this.#snapshot.loading === 'fresh') this.#isUnborn = true;
    const entry: Entry = { id: edits || crypto.randomUUID(), chat: this.id, text, owner: owner.mark, at: Date.now(), ...(edits ? { isEdit: true } : {}), ...(taskId ? { taskId } : {}), ...(model ? { model } : {}), ...(form ? { form } : {}), ...(files.length > 0 ? { files } : {}) };
    this.#set({ loading: 'there', waiting: [...this.#snapshot.waiting, entry], problem: '' });
    await outbox.put(entry).catch(() => undefined);
    live.tell({ type: 'outbox', chat: this.id });
    if (this.#isFollowing) await this.chat.stop();
    await this.drain();
  }

  /** Sends what was refused once more, as it is. */
  async again(id: string): Promise<void> {
    const waiting = this.#snapshot.waiting.map((entry): Waiting => {
      const { refused: _, ...anew } = entry;
      return entry.id === id ? anew : entry;
    });
    this.#set({ waiting });
    await this.drain();
  }

  async discard(id: string): Promise<void> {
    this.#set({ waiting: this.#snapshot.waiting.filter((entry) => entry.id !== id) });
    await outbox.remove(id).catch(() => undefined);
    live.tell({ type: 'outbox', chat: this.id });
    void this.drain();
  }

  /** Sends what waits, in order; one tab of the browser does. */
  async drain(): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      await navigator.locks.request(`switchyard:send:${this.id}`, async () => {
        for (let failures = 0; ; ) {
          const next = this.#snapshot.waiting.find(({ refused }) => !refused);
          if (!next || this.isBusy || this.#isFollowing) return;
          if (navigator.onLine && (await this.#deliver(next))) failures = 0;
          else {
            this.#set({ isLost: true });
            await rest(failures++);
          }
        }
      });
    } finally {
      this.#isDraining = false;
    }
  }

  #sending: string | undefined;

  /** False where the server could not be reached. */
  async #deliver(entry: Waiting): Promise<boolean> {
    this.#isTaken = false;
    this.#sending = entry.id;
    this.#set({ progress: '' });
    if (entry.isEdit) await this.refresh();
    const before = this.chat.messages;
    const place = entry.isEdit && before.some(({ id }) => id === entry.id) ? { messageId: entry.id } : { id: entry.id };
    await this.chat.sendMessage(
      { ...place, role: 'user', parts: partsOf(entry), ...(entry.model ? { metadata: { model: entry.model } } : {}) },
      { body: { owner: entry.owner, ...(entry.taskId ? { taskId: entry.taskId } : {}) } },
    );
    this.#sending = undefined;
    if (this.#isTaken) {
      await this.#ended();
      return true;
    }
    const error = this.chat.error;
    this.chat.messages = before;
    this.chat.clearError();
    if (!(error instanceof ApiError) || error.mayPass) return false;
    // Whoever is here now did not write it. Once that is known here, nothing of it is left on the page.
    if (error.code === 'another_owner') {
      await this.discard(entry.id);
      askWho();
      return true;
    }
    const refused = this.#snapshot.waiting.map((one) => (one.id === entry.id ? { ...one, refused: error.message, isLimit: error.code === 'over_quota' } : one));
    this.#set({ waiting: refused, isLost: false });
    return true;
  }

  /** The server has the message: nothing of it waits any more. */
  async #took(): Promise<void> {
    const id = this.#sending;
    this.#isUnborn = false;
    if (owner.isNobody) askWho();
    live.wake();
    if (!id) return;
    this.#set({ isLost: false, waiting: this.#snapshot.waiting.filter((entry) => entry.id !== id) });
    await outbox.remove(id).catch(() => undefined);
    live.tell({ type: 'chat', chat: this.id });
    void queries.invalidateQueries({ queryKey: keys.chats });
  }

  /** After a stream: comes back to it where it broke off, and takes the server's history. */
  async #ended(): Promise<void> {
    const isCut = this.#isDisconnected || this.chat.status === 'error';
    if (isCut && !this.#hasWaiting) await this.#follow();
    else {
      if (isCut) this.chat.clearError();
      this.#set({ progress: '' });
      await this.refresh();
    }
    live.wake();
    live.tell({ type: 'chat', chat: this.id });
    void queries.invalidateQueries({ queryKey: keys.chats });
    void queries.invalidateQueries({ queryKey: keys.connections });
  }

  get #hasWaiting(): boolean {
    return this.#snapshot.waiting.some(({ refused }) => !refused);
  }

  /**
   * Follows the answer that is under way until its stream ends by itself, or another message wants to leave: a stream that is
   * taken up again lasts as long as the task, and its card is followed anyway.
   */
  async #follow(): Promise<void> {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#leaves = false;
    for (let failures = 0; ; ) {
      this.#isDisconnected = false;
      await this.chat.resumeStream();
      const isCut = this.#isDisconnected || this.chat.status === 'error';
      if (!isCut || this.#hasWaiting || this.#leaves) break;
      this.chat.clearError();
      this.#set({ isLost: failures > 0 });
      await rest(failures++);
      if (this.#leaves) break;
    }
    this.#isFollowing = false;
    this.chat.clearError();
    this.#set({ progress: '', isLost: false });
    await this.refresh();
    if (!this.#isDraining) void this.drain();
  }

  /** Another answer in place of this one. */
  async regenerate(messageId: string): Promise<void> {
    if (this.isBusy) return;
    this.#set({ problem: '' });
    await this.chat.regenerate({ messageId });
    if (this.chat.status === 'error') {
      const problem = this.chat.error?.message ?? '';
      this.chat.clearError();
      this.#set({ problem });
    }
    await this.#ended();
    void this.drain();
  }

  async stop(): Promise<void> {
    try {
      await send('POST', `chat/${encodeURIComponent(this.id)}/stop`);
    } catch (error) {
      this.#set({ problem: messageOf(error) });
    }
  }

  /** A task has changed: the answer may be there. */
  #changed(card: Card): void {
    const contexts = new Set<unknown>();
    const isMine = this.chat.messages.some((message) =>
      message.parts.some((part) => {
        if (part.type === 'data-task') contexts.add(part.data.contextId);
        return part.type === 'data-task' && part.data.taskId === card.taskId;
      }),
    );
    if (isMine || contexts.has(card.contextId)) this.refreshSoon();
    if (isMine) this.#listen();
  }

  refreshSoon(): void {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => {
      if (!this.isBusy) void this.refresh();
    }, 120);
  }
}

const sessions = new Map<string, Session>();

export function sessionOf(id: string): Session {
  const known = sessions.get(id);
  if (known) return known;
  const session = new Session(id);
  sessions.set(id, session);
  return session;
}

live.hear((news) => {
  if (news.type === 'outbox') void sessions.get(news.chat)?.readOutbox();
  if (news.type === 'chat') sessions.get(news.chat)?.refreshSoon();
});

/** What an earlier visit left unsent goes out now, whichever chat is open. */
export async function sendLeftOvers(): Promise<void> {
  const left = await outbox.all().catch(() => []);
  for (const chat of new Set(left.map((entry) => entry.chat))) {
    const session = sessionOf(chat);
    await session.readOutbox();
    void session.drain();
  }
}
