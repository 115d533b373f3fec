// Texts that want to be more than text: as a message, an answer, a title, an agent's name, a file's name, data. Each is drawn as
// what it is: nothing runs, nothing is loaded, nothing leaves the page's frame.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, launch, System, visitor } from './harness.mjs';

const texts = [
  '<script>window.hit = 1</script>', '<img src=x onerror="window.hit=1">', '<svg onload="window.hit=1">', '<svg><script>window.hit=1</script></svg>',
  '"><script>window.hit=1</script>', "'><img src=x onerror=window.hit=1>", '<iframe src="javascript:window.hit=1"></iframe>', '<object data="javascript:window.hit=1">',
  '<embed src="javascript:window.hit=1">', '<base href="https://evil.example/">', '<meta http-equiv="refresh" content="0;url=https://evil.example/">', '<link rel=stylesheet href="https://evil.example/a.css">',
  '<style>*{display:none}</style>', '<form action="https://evil.example/"><button>x</button></form>', '<details open ontoggle="window.hit=1">', '<video><source onerror="window.hit=1"></video>',
  '<body onload="window.hit=1">', '<math><mi xlink:href="javascript:window.hit=1">x</mi></math>', '<template><script>window.hit=1</script></template>', '<!--><script>window.hit=1</script>-->',
  '[a](javascript:window.hit=1)', '[a](JaVaScRiPt:window.hit=1)', '[a](java\tscript:window.hit=1)', '[a](&#106;avascript:window.hit=1)',
  '[a](data:text/html,<script>window.hit=1</script>)', '[a](vbscript:msgbox)', '[a](file:///etc/passwd)', '[a](blob:https://evil.example/1)',
  '[a](//evil.example/)', '[a](/t/acme/api/tasks)', '[bank.example](https://evil.example/login)', '<https://evil.example/>', 'https://acme-login.evil.example/t/acme/connect/9e3c526b?x=',
  '![x](https://evil.example/track.png)', '![x](javascript:window.hit=1)', '![x](data:image/svg+xml,<svg onload=window.hit=1>)', '[![x](https://evil.example/a.png)](javascript:window.hit=1)',
  '[a]: javascript:window.hit=1\n\n[a]', '[x]: https://evil.example/ "<img src=x onerror=window.hit=1>"\n\n[x]', '`<script>window.hit=1</script>`', '```html\n<script>window.hit=1</script>\n```',
  '| a | <img src=x onerror=window.hit=1> |\n|---|---|\n| [b](javascript:1) | c |', '# <img src=x onerror=window.hit=1>', '> <script>window.hit=1</script>', '- [ ] <input autofocus onfocus=window.hit=1>',
  '{{constructor.constructor("window.hit=1")()}}', '${window.hit=1}', '#{window.hit=1}', '<%= window.hit=1 %>',
  '\u202Egnp.exe', '\u2066\u2067\u2068\u2069\u200F\u200E', '\u0000\u0001\u0007\u001B[31mred', 'a\u0300'.repeat(400),
  '\uD83D', '\uFFFE\uFFFF', '\u2028\u2029', 'x'.repeat(5000),
  '> '.repeat(300) + 'deep', '- '.repeat(300) + 'deep', '*'.repeat(2000), '['.repeat(2000), '__proto__', 'constructor', 'toString', 'null', 'undefined', '[object Object]',
  '{"__proto__":{"hit":1}}', '%00%0a%0d', 'data: {"type":"error"}\n\n', '<a href="https://evil.example" target="_top" style="position:fixed;inset:0">x</a>',
];

/** A server's answers, made up: the same text everywhere that one can stand. */
function answers(text) {
  const id = '0d6e2ad4-6c05-4a4e-8f3a-3d3b1f0c0001';
  const time = '2026-11-23T12:00:00.000Z';
  const job = { number: 0, agentName: text, agentType: text, attempts: 1, instruction: text, state: 'completed', statusMessage: text, artifacts: [], history: [{ state: 'completed', at: time, message: text }], createdAt: time, updatedAt: time };
  const parts = [
    { text }, { data: { text, [text.slice(0, 60)]: text } }, { data: { orders: [{ name: text, [text.slice(0, 60)]: text }] } },
    { data: { units: { temperature: text, precipitation: text }, places: [10, 11].map((longitude) => ({ name: text, country: text, latitude: 60, longitude, days: [24, 25, 26].map((day) => ({ date: `2026-11-${day}`, summary: text, temperatureMin: 1, temperatureMax: 2, precipitation: 3 })) })) } },
    { url: text, filename: text, mediaType: text }, { url: `http://127.0.0.1/t/acme/api/tasks/${id}/files/0.0`, bytes: 2, filename: text, mediaType: 'text/html' },
  ];
  const card = { artifactType: 'task', taskId: id, contextId: 'c', state: 'completed', updatedAt: time, title: text, agentName: text, statusMessage: text, outcome: text, authUrl: text, authUrlBy: 'platform', consent: { agentName: text, provider: text, scopes: [{ name: text, words: null }, { name: `${text} `, words: text }], endsAt: text }, choices: [{ label: text, say: text }], jobs: [{ number: 0, agentName: text, state: text.slice(0, 20) }, { number: 1, agentName: text, state: 'working' }] };
  const step = { number: 0, agentName: text, agentType: text, instruction: text, after: [], optional: true, state: 'planned', reason: text, guard: { from: [text], isAsked: true } };
  const plan = { goal: text, hash: text, isApproved: false, steps: [step] };
  return {
    models: { models: [{ id: 'host', name: text, description: text, examples: [text] }, { id: text, name: text, description: text, examples: [text] }] },
    messages: { next: null, messages: [
      { id: 'm1', role: 'user', metadata: { model: text }, parts: [{ type: 'text', text }, { type: 'file', filename: text, mediaType: text, url: text }] },
      { id: 'm2', role: 'assistant', parts: [{ type: 'data-task', id, data: { ...card, plan } }, { type: 'text', text }, { type: 'data-task', data: { wrong: text } }, { type: text, data: text }] },
    ] },
    chats: { chats: [{ id: 'c1', title: text, contextId: 'c', createdAt: time, updatedAt: time }], next: null },
    task: { id, contextId: 'c', status: 'completed', statusMessage: text, artifacts: parts.map((part, number) => ({ artifactId: String(number), name: text, description: text, parts: [part] })), jobs: [job], plan, prompt: text, agentName: text, agentType: text, authUrl: text, authUrlBy: 'agent', outcome: text, createdAt: time, updatedAt: time, traceId: null, rev: 3, history: [{ state: 'completed', at: time, message: text }], failedAttempts: [] },
    connections: {
      connections: [{ id: text, provider: text, account: text, scopes: [text], agent: text, agents: 1, connectedAt: time, lastUsedAt: time }],
      unasked: [text],
    },
    look: { tasks: [card], cursor: '1' },
  };
}

let system, browser;
before(async () => {
  system = await System.start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await system?.stop();
});

test(`${texts.length} hostile texts stay texts`, async (t) => {
  assert(texts.length >= 60);
  const { context, check } = await visitor(browser, { viewport: { width: 390, height: 800 } });
  t.after(() => context.close());
  let given = answers('');
  const json = (route, body) => route.fulfill({ contentType: 'application/json', body: JSON.stringify(body) });
  await context.route(/\/api\/chats\/c1\/messages/, (route) => json(route, given.messages));
  await context.route(/\/api\/chats(\?|$)/, (route) => json(route, given.chats));
  await context.route(/\/api\/tasks\/[\w-]+$/, (route) => json(route, given.task));
  await context.route(/\/api\/models/, (route) => json(route, given.models));
  await context.route(/\/api\/connections/, (route) => json(route, given.connections));
  await context.route(/\/api\/events/, (route) => json(route, given.look));
  await context.route(/\/api\/chat\/c1\/stream/, (route) => route.fulfill({ status: 204 }));
  const page = await context.newPage();
  for (const [number, text] of texts.entries()) {
    given = answers(text);
    await page.goto(`${system.base('acme')}/chats/c1/tasks/${given.task.id}`);
    await page.locator('.panel .artifact').first().waitFor();
    await at(page).answer.locator('.card').waitFor({ state: 'attached', timeout: 10_000 }).catch(() => assert.fail(`no card for ${number}: ${text.slice(0, 80)}`));
    const found = await page.evaluate(() => ({
      hit: window.hit ?? Object.prototype.hit,
      own: location.href.startsWith(document.baseURI),
      elements: [...document.querySelectorAll('#page script, #page iframe, #page object, #page embed, #page base, #page meta, #page link, #page style, #page img, #page form:not(.composer)')].map(({ outerHTML }) => outerHTML),
      links: [...document.querySelectorAll('#page a[href]')].map(({ href }) => new URL(href).protocol).filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
      foreign: [...document.querySelectorAll('#page a[target=_blank]')].filter(({ href, textContent }) => href.startsWith('http') && !textContent.includes(new URL(href).host) && textContent !== 'Connect').map(({ outerHTML }) => outerHTML),
      handlers: [...document.querySelectorAll('#page *')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).length,
      wide: document.documentElement.scrollWidth > innerWidth,
      isBroken: !document.getElementById('prompt'),
    }));
    assert.deepEqual(found, { hit: undefined, own: true, elements: [], links: [], foreign: [], handlers: 0, wide: false, isBroken: false }, `${number}: ${text.slice(0, 80)}`);
  }
  check();
});
