// The AI SDK's transport, with the body that our route takes.

import { DefaultChatTransport, type UIMessageChunk } from 'ai';
import { at, refusal } from '../api.ts';
import { owner } from '../storage.ts';
import { language, languages, locale } from '../words.ts';
import { drafted, type Message } from './drafted.ts';

interface Options {
  /** Told when the server has taken the message. */
  taken: () => void;
}

const context = () => ({
  // A browser of a language that the page lacks still writes days and numbers in its own way.
  locale: language === 'en' && !languages.includes(navigator.language.split('-')[0] ?? '') ? navigator.language || undefined : locale,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
});

export class Transport extends DefaultChatTransport<Message> {
  constructor({ taken }: Options) {
    super({
      api: at('chat'),
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!response.ok) throw await refusal(response);
        if (init?.method === 'POST') taken();
        return response;
      },
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => {
        const message = messages.findLast(({ role }) => role === 'user');
        return { body: { owner: owner.mark, ...body, ...context(), id, message, model: message?.metadata?.model, trigger, messageId: messageId ?? null } };
      },
      prepareReconnectToStreamRequest: ({ id }) => ({ api: at(`chat/${encodeURIComponent(id)}/stream`) }),
    });
  }

  protected override processResponseStream(stream: ReadableStream<Uint8Array>): ReadableStream<UIMessageChunk> {
    return super.processResponseStream(stream).pipeThrough(drafted() as TransformStream<UIMessageChunk, UIMessageChunk>);
  }
}
