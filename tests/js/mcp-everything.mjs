// The MCP server of the protocol's own project that has something of everything, over HTTP as it comes, at a port that is free.
//
// Prints {"url": …} once it listens, and ends with its standard input.

import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address();
await new Promise((closed) => free.close(closed));

process.env.PORT = String(port);
// What it says of itself goes nowhere: the first line is ours.
console.log = console.info = () => {};
process.stdout.on('error', () => {});
await import('@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js');
const listens = () => new Promise((tell) => {
  const line = connect(port, '127.0.0.1');
  line.on('connect', () => { line.destroy(); tell(true); }).on('error', () => tell(false));
});
while (!(await listens())) await sleep(20);
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` })}\n`);
process.stdin.resume().on('end', () => process.exit(0));
