// The colours of code: the tree that the highlighter makes, as elements. It is loaded with the first block that names its language.

import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import type { ReactNode } from 'react';

const highlighter = createLowlight({ bash, css, go, java, javascript, json, python, rust, sql, typescript, xml, yaml });
/** Longer code stays as it is: its reader waits for nothing. */
const MOST = 50_000;

type Node = ReturnType<typeof highlighter.highlight>['children'][number];

const drawn = (nodes: readonly Node[]): ReactNode[] =>
  nodes.map((node, place) => (node.type === 'element' ? <span key={place} className={String((node.properties.className as string[] | undefined)?.join(' '))}>{drawn(node.children as Node[])}</span> : node.type === 'text' ? node.value : null));

export default function Colours({ text, language }: { text: string; language: string }) {
  const name = language.toLowerCase();
  return <>{highlighter.registered(name) && text.length <= MOST ? drawn(highlighter.highlight(name, text).children) : text}</>;
}
