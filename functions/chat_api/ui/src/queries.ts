// What is asked of the server and kept for as long as it is good.

import { useEffect, useState } from 'react';
import { keepPreviousData, QueryClient, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { ApiError, get } from './api.ts';
import { held } from './chat/held.ts';
import { type Chat, Chats, Connections, Models, Session, Task, Tasks } from './model.ts';
import { owner } from './storage.ts';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      // Without a network a view says so at once, and asks again when there is one.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the server refuses, it refuses again.
      retry: (failures, error) => navigator.onLine && failures < 3 && !(error instanceof ApiError && !error.mayPass),
    },
  },
});

export const keys = {
  chats: ['chats'] as const,
  tasks: ['tasks'] as const,
  task: (id: string) => ['task', id] as const,
  share: (id: string) => ['share', id] as const,
  connections: ['connections'] as const,
  models: ['models'] as const,
  session: ['session'] as const,
  push: ['push'] as const,
};

function page(path: string, cursor: string | null, more: Record<string, string> = {}): string {
  const query = new URLSearchParams(more);
  if (cursor) query.set('cursor', cursor);
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The chats, or those whose title has the text; while another text is looked for, what was found before stays. */
export const useChats = (wanted: string) =>
  useInfiniteQuery({
    queryKey: [...keys.chats, wanted],
    queryFn: ({ pageParam, signal }) => get(page('chats', pageParam, wanted ? { q: wanted } : {}), Chats, signal),
    placeholderData: keepPreviousData,
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? null,
  });

/** What was typed, once the typing rests. */
export function useRested(text: string): string {
  const [rested, rest] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => rest(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

/** The chat, where it is among those that were listed. */
export function useListedChat(is: (chat: Chat) => boolean): Chat | undefined {
  return useChats('').data?.pages.flatMap(({ chats }) => chats).find(is);
}

export const useChatTitle = (id: string | undefined): string => useListedChat((chat) => chat.id === id)?.title ?? '';

/** The task as it was at a revision, which never changes again. */
export const useTaskAt = (id: string, rev: number, enabled: boolean) =>
  useQuery({
    queryKey: ['past', id, rev],
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => get(`tasks/${encodeURIComponent(id)}?rev=${rev}`, Task, signal),
  });

export const useTasks = () =>
  useInfiniteQuery({
    queryKey: keys.tasks,
    queryFn: ({ pageParam, signal }) => get(page('tasks', pageParam), Tasks, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? null,
  });

const task = (id: string) => ({
  queryKey: keys.task(id),
  // What changes of it comes as news.
  staleTime: 60_000,
  queryFn: ({ signal }: { signal: AbortSignal }) => get(`tasks/${encodeURIComponent(id)}`, Task, signal),
});

export const useTask = (id: string, enabled = true) => useQuery({ ...task(id), enabled });

/** The same for whoever does not draw it. */
export const readTask = (id: string): Promise<Task> => queries.fetchQuery(task(id));

/** Something of whoever was there is on the page already. */
let isDrawn = false;

export const drawn = (): void => {
  isDrawn = true;
};

/** This tab is on its way to the provider, to sign out there too: loading it anew would stop it. */
let isLeaving = false;

export const leaving = (is: boolean): void => {
  isLeaving = is;
};

/** Whoever is there has been the same since the page was loaded, as far as anybody here knows. */
let isSame = true;
owner.elsewhere(() => {
  isSame = false;
});

async function whoIsThere(signal: AbortSignal): Promise<Session> {
  const session = await get('session', Session, signal);
  const isOther = await owner.learn({ who: session.who, mark: session.owner });
  // What this tab has in its memory is somebody else's: but what was written before it was known whose.
  if (isOther && isDrawn && !isLeaving) {
    if (isSame) held.carry();
    location.reload();
  }
  isSame = false;
  return session;
}

export const useSession = () =>
  useQuery({ queryKey: keys.session, staleTime: 60_000, queryFn: ({ signal }) => whoIsThere(signal) });

/** Asks who is there once more. */
export const askWho = (): void => void queries.invalidateQueries({ queryKey: keys.session });

export const useConnections = () =>
  useQuery({ queryKey: keys.connections, queryFn: ({ signal }) => get('connections', Connections, signal) });

const models = { queryKey: keys.models, staleTime: 5 * 60_000, queryFn: ({ signal }: { signal: AbortSignal }) => get('models', Models, signal) };

/** Whom a message can be for; the host comes first. */
export const useModels = () => useQuery(models);

/** The same for whoever cannot do without; none where they cannot be had. */
export const readModels = async () => (await queries.fetchQuery(models).catch(() => null))?.models ?? [];

/** Where the host speaks A2A. Asked by itself: the list above may be from before there was a session. */
export const useHost = () =>
  useQuery({ queryKey: ['host'], staleTime: 5 * 60_000, queryFn: async ({ signal }) => (await get('models', Models, signal)).host ?? null });
