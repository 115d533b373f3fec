// How the page feels on a slow line and a slow machine: processor four times slower, 1.6 Mb/s, 150 ms. Prints FCP, LCP, TBT and INP,
// and compares them with the page as it was before its last change, on the same machine in the same minutes.
//
//   node tests/js/browser/slow.mjs            `tests/run browser-perf`

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ask, at, launch, System } from './harness.mjs';

const RUNS = 5;
const SLOWER = 4;
const LINE = { offline: false, latency: 150, downloadThroughput: (1.6 * 1_000_000) / 8, uploadThroughput: (1.6 * 1_000_000) / 8 };
/** So much worse than before is too much. */
const WORSE = 1.2;
/** Below these a difference is the machine's. */
const NOISE = { FCP: 150, LCP: 150, TBT: 150, INP: 60 };

const root = join(import.meta.dirname, '../../..');
const DIST = 'functions/chat_api/ui/dist';
const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'buffer', maxBuffer: 64e6 });

/** The files of a build, by their paths below `dist`. */
function built(commit) {
  if (commit === null) {
    const names = git('ls-files', DIST).toString().trim().split('\n');
    return new Map(names.map((name) => [name.slice(DIST.length + 1), readFileSync(join(root, name))]));
  }
  const names = git('ls-tree', '-r', '--name-only', commit, DIST).toString().trim().split('\n');
  return new Map(names.map((name) => [name.slice(DIST.length + 1), git('show', `${commit}:${name}`)]));
}

/** The newest commit whose page is another one. */
function before(now) {
  const source = now.get('.source').toString();
  const commits = git('log', '--format=%h', '-30', '--', `${DIST}/.source`).toString().trim().split('\n');
  return commits.find((commit) => git('show', `${commit}:${DIST}/.source`).toString() !== source) ?? null;
}

/** The system with this page in place of its own; files are sent as the function sends them. */
async function serving(port, files) {
  const media = { js: 'text/javascript', css: 'text/css', webmanifest: 'application/manifest+json' };
  const server = createServer((incoming, outgoing) => {
    const [, tenant, name] = incoming.url.match(/^\/t\/([^/]+)\/assets\/([^/?]+)$/) ?? [];
    const asset = name && files.get(`assets/${name}`);
    if (asset) {
      const headers = { 'content-type': media[name.split('.').at(-1)], 'content-encoding': 'gzip', 'cache-control': 'no-store' };
      return outgoing.writeHead(200, headers).end(gzipSync(asset));
    }
    const passed = request({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: incoming.headers }, (answer) => {
      if (!(answer.headers['content-type'] ?? '').startsWith('text/html')) {
        outgoing.writeHead(answer.statusCode, answer.headers);
        return answer.pipe(outgoing);
      }
      answer.resume();
      const { 'content-length': _, etag: __, ...headers } = answer.headers;
      const [, own] = incoming.url.match(/^\/t\/([^/]+)/) ?? [, tenant];
      outgoing.writeHead(answer.statusCode, headers);
      outgoing.end(files.get('index.html').toString().replaceAll('{{tenant}}', own).replaceAll('{{base}}', `/t/${own}/`));
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, close: () => server.close() };
}

/** In the page: what the browser tells of its own times. */
function observe() {
  window.seen = { LCP: 0, tasks: [], INP: 0 };
  const watch = (type, each, more = {}) => new PerformanceObserver((list) => list.getEntries().forEach(each)).observe({ type, buffered: true, ...more });
  watch('largest-contentful-paint', ({ startTime }) => (window.seen.LCP = startTime));
  watch('longtask', ({ startTime, duration }) => window.seen.tasks.push([startTime, duration]));
  watch('event', ({ interactionId, duration }) => {
    if (interactionId) window.seen.INP = Math.max(window.seen.INP, duration);
  }, { durationThreshold: 16 });
}

/** One visit of a chat with a finished forecast, with nothing in the browser's cache, and a word typed into it. */
async function visit(browser, base, path, cookies) {
  const context = await browser.newContext({ viewport: { width: 412, height: 823 }, locale: 'en-GB' });
  await context.addCookies(cookies);
  await context.addInitScript(observe);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const line = await context.newCDPSession(page);
  await line.send('Network.enable');
  await line.send('Network.emulateNetworkConditions', LINE);
  await line.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  await page.goto(`${base}${path}`);
  // What is drawn in the card comes when the card is seen, which is not so in every version.
  await page.locator('.message-tools').waitFor();
  await page.waitForTimeout(1500);
  const loaded = await page.evaluate(() => {
    const FCP = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0;
    const TBT = window.seen.tasks.filter(([start]) => start >= FCP).reduce((all, [, duration]) => all + Math.max(0, duration - 50), 0);
    return { FCP, LCP: window.seen.LCP, TBT };
  });
  await at(page).prompt.click();
  await page.keyboard.type('What next?', { delay: 60 });
  await page.waitForTimeout(500);
  const INP = await page.evaluate(() => window.seen.INP);
  await context.close();
  return { ...loaded, INP };
}

const middle = (values) => values.sort((one, two) => one - two)[Math.floor(values.length / 2)];

const now = built(null);
const earlier = before(now);
const pages = [['now', now], ...(earlier ? [[earlier, built(earlier)]] : [])];
const system = await System.start();
const browser = await launch();
try {
  const made = await browser.newContext();
  const page = await made.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${system.base('acme')}/`);
  await ask(page, 'What will the weather be like in Oslo and Bergen over the next five days?');
  await at(page).badge.getByText('Completed').waitFor();
  const path = new URL(page.url()).pathname;
  const { cookies } = await made.storageState();
  await made.close();
  const figures = new Map();
  for (const [name, files] of pages) figures.set(name, { server: await serving(system.port, files), runs: [] });
  // One after the other, so that both meet the same moments of the machine.
  for (let run = 0; run < RUNS; run += 1) {
    for (const { server, runs } of figures.values()) runs.push(await visit(browser, `http://127.0.0.1:${server.port}`, path, cookies));
  }
  const worse = [];
  for (const metric of ['FCP', 'LCP', 'TBT', 'INP']) {
    const [own, old] = [...figures.values()].map(({ runs }) => middle(runs.map((run) => run[metric])));
    console.log(`${metric} ${Math.round(own)} ms${old === undefined ? '' : ` (${earlier}: ${Math.round(old)} ms)`}`);
    if (old !== undefined && own > old * WORSE && own > old + NOISE[metric]) worse.push(metric);
  }
  for (const { server } of figures.values()) server.close();
  assert.deepEqual(worse, [], `worse than ${earlier} by more than ${Math.round((WORSE - 1) * 100)} %`);
} finally {
  await browser.close();
  await system.stop();
}
