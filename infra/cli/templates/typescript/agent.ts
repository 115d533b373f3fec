/**
 * AGENT_NAME: an A2A agent on the official JavaScript SDK. It counts the words of a text; put your own work in `execute`.
 *
 *     npm start -- [--port 9100] [--no-join]
 *
 * Once it listens it registers itself at the running Switchyard, and says so in one line of JSON.
 */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';

import { type AgentCard, type Artifact, type Part, Role, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent, type AgentExecutor, DefaultExecutionEventBusManager, DefaultPushNotificationSender, DefaultRequestHandler,
  type ExecutionEventBus, InMemoryPushNotificationStore, InMemoryTaskStore, type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import express from 'express';

import { Hosts } from './hosts.js';

// Where the running system says what is where. It holds a token that lets its bearer register agents: keep it to yourself.
const ENDPOINTS = process.env.SWITCHYARD_ENDPOINTS ?? 'ENDPOINTS_FILE';

const textPart = (value: string): Part =>
  ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });
const filePart = (text: string, filename: string, mediaType: string): Part =>
  ({ content: { $case: 'raw', value: Buffer.from(text) }, metadata: undefined, filename, mediaType });
const textOf = (parts: Part[]): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join(' ');

class Executor implements AgentExecutor {
  async execute({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    // Whoever streams, or gave a webhook, hears of each state: the SDK streams and pushes them.
    const tell = (state: TaskState, said?: string) => {
      const message = said === undefined ? undefined : {
        messageId: randomUUID(), taskId, contextId, role: Role.ROLE_AGENT, parts: [textPart(said)], metadata: undefined, extensions: [],
        referenceTaskIds: [],
      };
      const status = { state, message, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
    };
    const bring = (name: string, part: Part) => {
      const artifact: Artifact = { artifactId: name, name, description: '', parts: [part], metadata: undefined, extensions: [] };
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }));
    };
    if (!task) {
      const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
      bus.publish(AgentEvent.task({ id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }));
    }
    tell(TaskState.TASK_STATE_WORKING, 'Counting');

    // What the task was asked before counts too: the answer to a question says nothing alone.
    const before = (task?.history ?? []).filter(({ role, messageId }) => role === Role.ROLE_USER && messageId !== userMessage.messageId);
    const asked = [...before, userMessage].map(({ parts }) => textOf(parts)).join(' ');
    const text = asked.slice(asked.indexOf(':') + 1).trim();
    if (!asked.includes(':') || !text) {
      // The task waits for its user. TASK_STATE_AUTH_REQUIRED with a link is the same for a consent of your own.
      tell(TaskState.TASK_STATE_INPUT_REQUIRED, "Which text? Write it behind a colon, as in 'count: the quick brown fox'.");
      return bus.finished();
    }

    const words = text.split(/\s+/);
    bring('count', textPart(`${words.length} words, ${text.length} characters.`));
    const table = ['word,letters', ...words.map((word) => `${word},${word.length}`)].join('\n');
    bring('words', filePart(`${table}\n`, 'words.csv', 'text/csv'));
    tell(TaskState.TASK_STATE_COMPLETED);
    return bus.finished();
  }

  // It is done before anybody could call it off. Longer work stops here, and publishes TASK_STATE_CANCELED.
  async cancelTask(): Promise<void> {}
}

// Hosts find the agent by these words alone: say what it does in a sentence, and what people ask in three to six examples.
const card: AgentCard = {
  name: 'AGENT_NAME',
  description: 'Counts the words and characters of a text',
  version: '0.1.0',
  provider: undefined,
  supportedInterfaces: [],
  capabilities: { streaming: true, pushNotifications: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'text/csv'],
  skills: [{
    id: 'count',
    name: 'Count words',
    description: 'Counts how many words and characters a text has, and lists them as a table',
    tags: ['text'],
    examples: [
      'Count the words: the quick brown fox',
      'How many words has this text: all that glitters',
      'How long is this text: hello world',
    ],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  }],
};

const endpoints = async () => JSON.parse(await readFile(ENDPOINTS, 'utf8'));

/** Registers the agent at the running system; what became of that, in a few words. */
async function join(url: string): Promise<string> {
  try {
    const { registry, registry_token } = await endpoints();
    const answer = await fetch(`${registry.replace(/\/$/, '')}/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${registry_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ cardUrl: `${url}.well-known/agent-card.json` }),
    });
    const said = await answer.text();
    return answer.ok ? `registered as ${JSON.parse(said).id}` : `refused: ${said}`;
  } catch (error) {
    return `no system is reached (${error}); start one, then: switchyard agent register ${url}`;
  }
}

const { values } = parseArgs({
  options: { port: { type: 'string', default: '9100' }, 'no-join': { type: 'boolean', default: false } },
});
const configs = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  // In memory: give it a store of your own, and a task survives a restart.
  new InMemoryTaskStore(),
  new Executor(),
  new DefaultExecutionEventBusManager(),
  configs,
  new DefaultPushNotificationSender(configs),
);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
// A token that comes must be good: see hosts.ts.
const hosts = new Hosts(() => card.supportedInterfaces[0].url, endpoints);
app.use('/', hosts.admit, jsonRpcHandler({ requestHandler, userBuilder: hosts.caller }));
const server = app.listen(Number(values.port), '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  card.supportedInterfaces.push({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' });
  const joined = values['no-join'] ? 'not registered' : await join(url);
  console.log(JSON.stringify({ url, card: `${url}.well-known/agent-card.json`, joined }));
});
