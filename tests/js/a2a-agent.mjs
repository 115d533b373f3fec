// A plain A2A agent written with the official JavaScript SDK and nothing of ours. It tells its result in pieces of one artifact, as a
// model's words come, and pushes by the SDK's own sender; or, where it blocks, it says nothing before it is done, and that by a mere
// message: it has no tasks and pushes nothing.
//
//   node a2a-agent.mjs SECONDS [--blocking]
//
// Prints one line of JSON, {"url": …, "card": …}, once it listens, and ends with its standard input.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { Role, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent, DefaultExecutionEventBusManager, DefaultPushNotificationSender, DefaultRequestHandler, InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express';

// Nobody reads what the library says after that, and nobody may be held up by it.
process.stdout.on('error', () => {});
const [seconds] = process.argv.slice(2);
const blocking = process.argv.includes('--blocking');
const text = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });
let runs = 0;

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    runs += 1;
    if (blocking) {
      await sleep(seconds * 1000);
      const parts = [text('100 EUR is 1160.00 NOK.')];
      const message = { messageId: randomUUID(), contextId, taskId: '', role: Role.ROLE_AGENT, parts, extensions: [], referenceTaskIds: [] };
      bus.publish(AgentEvent.message(message));
      return bus.finished();
    }
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const update = (state) => AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined });
    const submitted = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage] };
    bus.publish(AgentEvent.task(submitted));
    bus.publish(update(TaskState.TASK_STATE_WORKING));
    const pieces = ['100 E', 'UR is ', '1160.0', '0 NOK.'];
    for (const [at, piece] of pieces.entries()) {
      await sleep((seconds * 1000) / pieces.length);
      const artifact = { artifactId: 'said', name: 'conversion', description: '', parts: [text(piece)], extensions: [] };
      const more = { append: at > 0, lastChunk: at + 1 === pieces.length };
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, metadata: undefined, ...more }));
    }
    bus.publish(update(TaskState.TASK_STATE_COMPLETED));
    return bus.finished();
  },
  async cancelTask() {},
};

const card = {
  name: 'Currency',
  description: 'Converts amounts of money between currencies',
  version: '1.0.0',
  supportedInterfaces: [],
  capabilities: { streaming: true, pushNotifications: !blocking, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{
    id: 'convert',
    name: 'Convert money',
    description: 'Converts an amount from one currency into another: euros, dollars, kroner, pounds, yen',
    tags: ['currency', 'money'],
    examples: ['How much is 100 euros in kroner?', 'Convert 20 dollars to yen'],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  }],
};
const configs = new InMemoryPushNotificationStore();
const events = new DefaultExecutionEventBusManager();
const sender = new DefaultPushNotificationSender(configs);
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor, events, configs, sender);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.get('/stats', (_, response) => response.json({ runs }));
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  card.supportedInterfaces.push({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' });
  console.log(JSON.stringify({ url, card: `${url}.well-known/agent-card.json` }));
});
process.stdin.resume().on('end', () => process.exit(0));
