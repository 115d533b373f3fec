// The published MCP server for stays, which speaks over its standard streams alone, behind an HTTP address: the official SDK's own
// transport on one side, the program on the other, and messages carried between them unread. Each session has a program of its own,
// which reaches no network.
//
// Prints {"url": …} once it listens, and ends with its standard input.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const server = fileURLToPath(import.meta.resolve('@openbnb/mcp-server-airbnb/dist/index.js'));
const offline = fileURLToPath(new URL('no-network.cjs', import.meta.url));
const sessions = new Map();

async function begin() {
  const program = spawn(process.execPath, ['--require', offline, server], { stdio: ['pipe', 'pipe', 'ignore'] });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  transport.onmessage = (message) => program.stdin.write(`${JSON.stringify(message)}\n`);
  transport.onclose = () => program.kill();
  await transport.start();
  createInterface({ input: program.stdout }).on('line', (line) => transport.send(JSON.parse(line)));
  return transport;
}

const http = createServer(async (request, response) => {
  const known = sessions.get(request.headers['mcp-session-id']);
  await (known ?? (await begin())).handleRequest(request, response);
});
http.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` })}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
