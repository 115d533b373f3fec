// Markdown as React elements: the lexer's tokens, drawn by us. HTML in it is text, pictures are links, and links lead to https
// and mailto addresses only, with their real host shown.

import { lexer, type Token, type Tokens } from 'marked';
import { Fragment, memo, type ReactNode, useState } from 'react';
import { CopyButton } from '../parts/copy.tsx';
import { size, words } from '../words.ts';
import { Code } from './code.tsx';

/** Longer text is folded. */
const LONG = 6 * 1024;
const DEEPEST = 24;

/** Some texts of the lexer are escaped for HTML; React does that itself. */
function plain(text: string): string {
  if (!text.includes('&')) return text;
  return text
    .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** The address, where a link may lead there. */
export function safe(href: string): URL | null {
  try {
    const url = new URL(href);
    const isHere = url.origin === location.origin;
    return url.protocol === 'https:' || url.protocol === 'mailto:' || (isHere && url.protocol === 'http:') ? url : null;
  } catch {
    return null;
  }
}

export function SafeLink({ href, children }: { href: string; children?: ReactNode }) {
  const url = safe(href);
  if (!url) return <>{children ?? href}</>;
  const place = url.protocol === 'mailto:' ? url.pathname : url.host;
  const named = typeof children === 'string' ? children : '';
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer">
      {children ?? href}
      {named.includes(place) || (!children && href.includes(place)) ? null : <span className="host"> ({place})</span>}
    </a>
  );
}

function text(tokens: readonly Token[] | undefined): string {
  return (tokens ?? []).map((token) => ('tokens' in token && token.tokens ? text(token.tokens) : plain('text' in token ? String(token.text) : token.raw))).join('');
}

function list(token: Tokens.List, depth: number): ReactNode {
  const items = token.items.map((item, place) => (
    <li key={place}>
      {item.task ? <input type="checkbox" checked={item.checked === true} disabled readOnly aria-label={text(item.tokens)} /> : null}
      {drawn(item.tokens.filter(({ type }) => type !== 'checkbox'), depth)}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table, depth: number): ReactNode {
  const cell = (one: Tokens.TableCell) => drawn(one.tokens, depth);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={text(token.header[0]?.tokens)}>
      <table>
        <thead><tr>{token.header.map((one, place) => <th key={place} scope="col">{cell(one)}</th>)}</tr></thead>
        <tbody>
          {token.rows.map((row, line) => <tr key={line}>{row.map((one, place) => <td key={place}>{cell(one)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

/** Headings begin below those of the page. */
const headings = ['h3', 'h3', 'h4', 'h5', 'h6', 'h6'] as const;

function element(token: Token, depth: number): ReactNode {
  const inner = () => drawn('tokens' in token ? token.tokens : undefined, depth + 1);
  if (depth > DEEPEST) return plain(token.raw);
  switch (token.type) {
    case 'space':
      return null;
    case 'heading': {
      const Tag = headings[(token as Tokens.Heading).depth - 1] ?? 'h6';
      return <Tag>{inner()}</Tag>;
    }
    case 'paragraph':
      return <p>{inner()}</p>;
    case 'blockquote':
      return <blockquote>{inner()}</blockquote>;
    case 'list':
      return list(token as Tokens.List, depth + 1);
    case 'table':
      return table(token as Tokens.Table, depth + 1);
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ''} />;
    case 'hr':
      return <hr />;
    case 'strong':
      return <strong>{inner()}</strong>;
    case 'em':
      return <em>{inner()}</em>;
    case 'del':
      return <del>{inner()}</del>;
    case 'codespan':
      return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link': {
      const { href, text: named } = token as Tokens.Link;
      return <SafeLink href={href}>{named ? plain(named) : href}</SafeLink>;
    }
    case 'image': {
      const { href, text: named } = token as Tokens.Image;
      return <SafeLink href={href}>{named ? plain(named) : href}</SafeLink>;
    }
    case 'text':
      return 'tokens' in token && token.tokens ? inner() : plain((token as Tokens.Text).text);
    case 'escape':
      return plain((token as Tokens.Escape).text);
    default:
      return token.raw;
  }
}

function drawn(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  return (tokens ?? []).map((token, place) => <Fragment key={place}>{element(token, depth)}</Fragment>);
}

const MARKER = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;

/** Agents write lists without thinking of Markdown: what begins at the margin after one goes on below it, not within its last item. */
function unlazy(source: string): string {
  if (!source.includes('\n')) return source;
  let isFenced = false;
  let inItem = false;
  const lines = source.split('\n').flatMap((line) => {
    if (/^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const isItem = !isFenced && MARKER.test(line);
    const ends = inItem && !isItem && /^\S/.test(line);
    inItem = isItem || (inItem && /^\s+\S/.test(line));
    return ends ? ['', line] : [line];
  });
  return lines.join('\n');
}

/** Where a long text is folded: between two paragraphs, where there are some. */
function beginning(source: string): string {
  const end = source.lastIndexOf('\n\n', LONG);
  return source.slice(0, end > LONG / 2 ? end : LONG);
}

export const Markdown = memo(function Markdown({ text: source }: { text: string }) {
  const [isWhole, showWhole] = useState(false);
  const isFolded = !isWhole && source.length > LONG * 1.25;
  return (
    <div className="markdown">
      <div className="markdown" data-folded={isFolded}>{drawn(lexer(unlazy(isFolded ? beginning(source) : source), { gfm: true, breaks: true }), 0)}</div>
      {isFolded ? <p className="folded"><button type="button" onClick={() => showWhole(true)}>{words.showAll} ({size(source.length)})</button> <CopyButton text={source} /></p> : null}
    </div>
  );
});
