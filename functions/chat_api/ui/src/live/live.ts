// News of all tasks, once per browser: the tabs elect one by a lock, which asks the server and tells the others.
//
// The stream is open only while a visible tab shows work under way, or a consent page was just opened, in whichever tab. While tasks
// merely wait, one look every half minute is enough; when nothing is unfinished, or no tab is visible, nobody asks anything.
// Whatever is asked goes on from where the last answer ended: nothing that happens in between is missed.

import { z } from 'zod';
import { at, get, root } from '../api.ts';
import { pause } from '../backoff.ts';
import { Card } from '../model.ts';
import { teller } from '../parts/teller.ts';
import { keys, queries } from '../queries.ts';
import { cards } from './cards.ts';

export type News = { type: 'card'; card: Card } | { type: 'chat'; chat: string } | { type: 'outbox'; chat: string } | { type: 'wake'; until?: number } | { type: 'look' };

const SELDOM = 30_000;
/** How long a consent page may take before nobody hurries any more. */
const CONSENT = 5 * 60_000;

const Look = z.object({ tasks: z.array(Card), cursor: z.string() });

const channel = new BroadcastChannel(`switchyard:${root}`);
const heard = teller<[News]>();

let cursor = '';
let hurryUntil = 0;
let release: (() => void) | undefined;
let leading = false;
let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

function take(news: News): void {
  if (news.type === 'card' && cards.update(news.card)) {
    void queries.invalidateQueries({ queryKey: keys.task(news.card.taskId) });
    void queries.invalidateQueries({ queryKey: keys.tasks });
  }
  if (news.type === 'wake') wake(news.until);
  // A tab that was opened beside this one knows nothing yet.
  if (news.type === 'look' && leading) void look();
  heard.tell(news);
}

function tell(news: News): void {
  channel.postMessage(news);
}

/** Whoever leads hears it, here or in another tab. */
function announce(news: News): void {
  take(news);
  tell(news);
}

const wantsStream = (): boolean => cards.anyActive || (cards.anyUnfinished && Date.now() < hurryUntil);

/** Every tab knows until when one hurries: any of them may lead next. */
function wake(until = 0): void {
  hurryUntil = Math.max(hurryUntil, until);
  if (!leading) return;
  // Who had no session before has no place yet from which to go on.
  if (cursor) ask();
  else void look();
}

/** Asks in the way that what is going on calls for. */
function ask(): void {
  clearTimeout(timer);
  if (!leading) return;
  if (wantsStream()) {
    if (!source) listen();
    return;
  }
  source?.close();
  source = undefined;
  if (cards.anyUnfinished) timer = setTimeout(() => void look(), SELDOM);
}

function listen(): void {
  const stream = new EventSource(`${at('events')}${cursor ? `?after=${encodeURIComponent(cursor)}` : ''}`);
  source = stream;
  stream.onmessage = ({ data, lastEventId }) => {
    cursor = lastEventId || cursor;
    failures = 0;
    const card = Card.safeParse(JSON.parse(data));
    if (card.success) announce({ type: 'card', card: card.data });
    ask();
  };
  stream.onerror = () => {
    stream.close();
    if (source !== stream) return;
    source = undefined;
    clearTimeout(timer);
    timer = setTimeout(ask, pause(failures++));
  };
}

/** One look: everything unfinished, and what has ended since. */
async function look(): Promise<void> {
  clearTimeout(timer);
  try {
    const found = await get(`events${cursor ? `?after=${encodeURIComponent(cursor)}` : ''}`, Look);
    cursor = found.cursor || cursor;
    failures = 0;
    for (const card of found.tasks) announce({ type: 'card', card });
    ask();
  } catch {
    timer = setTimeout(() => void look(), Math.max(SELDOM / 10, pause(failures++)));
  }
}

/** Leads for as long as the tab is visible, once no other does. */
function stand(): void {
  if (document.visibilityState !== 'visible') {
    release?.();
    release = undefined;
    return;
  }
  if (release) return;
  const given = new Promise<void>((resolve) => {
    release = resolve;
  });
  void navigator.locks.request(`switchyard:live:${root}`, async () => {
    if (document.visibilityState !== 'visible') return;
    leading = true;
    await look();
    await given;
    leading = false;
    clearTimeout(timer);
    source?.close();
    source = undefined;
  });
}

export const live = {
  start(): void {
    channel.onmessage = ({ data }: MessageEvent<News>) => take(data);
    const back = () => {
      stand();
      // Whoever comes back wants to see what is: also from another window, which has hidden nothing of this one.
      if (document.visibilityState === 'visible' && cards.anyUnfinished) announce({ type: 'look' });
    };
    document.addEventListener('visibilitychange', back);
    addEventListener('focus', back);
    stand();
    tell({ type: 'look' });
  },
  hear: heard.hear,
  tell,
  /** Something was set going: whoever leads looks at it. */
  wake: (): void => announce({ type: 'wake' }),
  /** A consent page was opened: its end is to be seen at once. The service worker says the same of one that was opened by a copied link. */
  hurry: (): void => announce({ type: 'wake', until: Date.now() + CONSENT }),
};
