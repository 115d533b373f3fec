// Files of a message of the user: a picture is shown, everything can be kept.

import { at } from '../api.ts';
import { SafeLink } from '../markdown/markdown.tsx';
import { FileView } from '../result/file.tsx';
import type { Message } from './drafted.ts';

export { FileView };

/** As it left here. */
const SENT = /^data:[\w.+-]+\/[\w.+-]+;base64,/;

/** What the server says of a file that it keeps. */
function sizeOf(part: { providerMetadata?: unknown }): number | null {
  const about = (part.providerMetadata as { switchyard?: { size?: unknown } } | undefined)?.switchyard?.size;
  return typeof about === 'number' ? about : null;
}

export function Files({ message, chat }: { message: Message; chat: string }) {
  const files = message.parts.filter((part) => part.type === 'file');
  // Those that are kept have a number each, in their order.
  const kept = files.filter((part) => sizeOf(part) !== null);
  const place = `chats/${encodeURIComponent(chat)}/messages/${encodeURIComponent(message.id)}/files`;
  return files.map((part, key) => {
    const [name, size] = [part.filename, sizeOf(part)];
    if (size !== null) return <FileView key={key} name={name} media={part.mediaType} size={size} at={at(`${place}/${kept.indexOf(part)}`)} />;
    if (SENT.test(part.url)) return <FileView key={key} name={name} media={part.mediaType} size={null} at={part.url} />;
    return <p key={key} className="file"><SafeLink href={part.url}>{name || part.mediaType}</SafeLink></p>;
  });
}
