// Drives an agent of ours with the official JavaScript SDK's client:
// card, send, stream, get, list, cancel, push configuration, in one generation and binding.
//
//   node a2a-client.mjs URL TOKEN 1.0|0.3 JSONRPC|HTTP+JSON
//
// Prints one line of JSON with the steps that were taken; ends with 1 and the reason where one is wrong.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import { TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

const [url, token, generation, binding] = process.argv.slice(2);
const steps = [];
const within = (promise, what) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing for 20 s`)), 20_000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

const authorized = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
const legacyCompat = { enabled: true };
const options = { fetchImpl: authorized, legacyCompat };

const card = await new DefaultAgentCardResolver(options).resolve(url.replace(/\/*$/, "/"), ".well-known/agent-card.json");
assert.ok(card.name && card.skills.length > 0, "the card has a name and skills");
card.supportedInterfaces = card.supportedInterfaces.filter(
  (offered) => offered.protocolBinding === binding && offered.protocolVersion.startsWith(generation),
);
assert.ok(card.supportedInterfaces.length > 0, `the card offers ${binding} ${generation}`);
assert.ok(card.capabilities.streaming && card.capabilities.pushNotifications, "it streams and pushes");
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
  preferredTransports: [binding],
});
const client = await factory.createFromAgentCard(card);
steps.push("card");

const request = (text, ofTask = {}) => ({
  tenant: "",
  message: {
    messageId: randomUUID(),
    contextId: "",
    taskId: "",
    role: 1,
    parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...ofTask,
  },
  configuration: undefined,
  metadata: undefined,
});
// A send answers with the bare task or wrapped in its payload.
const taskOf = (answer) => answer.payload?.value ?? answer;
const state = (task) => TaskState[task.status.state];

const sent = taskOf(await client.sendMessage(request("Will it rain in Oslo tomorrow?")));
assert.equal(state(sent), "TASK_STATE_COMPLETED", "a blocking send ends with the result");
assert.match(JSON.stringify(sent.artifacts), /Oslo/);
steps.push("send");

const events = [];
for await (const event of client.sendMessageStream(request("Will it rain in Bergen tomorrow?"))) {
  events.push(event.payload);
}
assert.equal(events[0].$case, "task", "a stream begins with the task");
assert.ok(events.some((event) => event.$case === "artifactUpdate"), "a stream carries the artifact");
assert.equal(state(events.at(-1).value), "TASK_STATE_COMPLETED", "a stream ends with the final status");
steps.push("stream");

const got = await client.getTask({ tenant: "", id: events[0].value.id, historyLength: undefined });
assert.equal(state(got), "TASK_STATE_COMPLETED");
assert.match(JSON.stringify(got.artifacts), /Bergen/);
await assert.rejects(client.getTask({ tenant: "", id: randomUUID(), historyLength: undefined }), "an unknown task");
steps.push("get");

// 0.3 has no list over JSON-RPC, and the SDK has none for it at all.
if (generation === "1.0") {
  const list = (pageToken) =>
    client.listTasks({
      tenant: "",
      contextId: "",
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: 1,
      pageToken,
      historyLength: undefined,
      statusTimestampAfter: undefined,
      includeArtifacts: undefined,
    });
  const first = await list("");
  assert.equal(first.tasks[0].id, got.id, "the newest comes first");
  assert.ok(first.totalSize >= 2, "the total counts all pages");
  const second = await list(first.nextPageToken);
  assert.equal(second.tasks[0].id, sent.id, "then the one before");
  steps.push("list");
}

const idle = taskOf(await client.sendMessage(request("What will the weather be tomorrow?")));
assert.equal(state(idle), "TASK_STATE_INPUT_REQUIRED", "the agent asks back");

const taken = [];
const webhook = createServer((incoming, outgoing) => {
  let body = "";
  incoming.on("data", (chunk) => (body += chunk));
  incoming.on("end", () => {
    taken.push({ headers: incoming.headers, body: JSON.parse(body) });
    outgoing.writeHead(204).end();
    webhook.emit("notification");
  });
}).listen(0, "127.0.0.1");
await once(webhook, "listening");
const webhookUrl = `http://127.0.0.1:${webhook.address().port}/push`;
const made = await client.createTaskPushNotificationConfig({
  tenant: "",
  id: "mine",
  taskId: idle.id,
  url: webhookUrl,
  token: "opaque-to-the-agent",
  authentication: undefined,
});
assert.equal(made.url, webhookUrl);
assert.doesNotMatch(JSON.stringify(made), /opaque/, "the token is not shown");
const named = { tenant: "", taskId: idle.id, id: made.id };
assert.equal((await client.getTaskPushNotificationConfig(named)).url, webhookUrl);
const configs = async () =>
  (await client.listTaskPushNotificationConfig({ tenant: "", taskId: idle.id, pageSize: 0, pageToken: "" })).configs;
assert.deepEqual((await configs()).map((config) => config.id), [made.id]);
steps.push("push configuration");

const notified = once(webhook, "notification");
const watching = (async () => {
  const seen = [];
  for await (const event of client.resubscribeTask({ tenant: "", id: idle.id })) seen.push(event.payload);
  return seen;
})();
await new Promise((resolve) => setTimeout(resolve, 500));
const canceled = await client.cancelTask({ tenant: "", id: idle.id, metadata: undefined });
assert.equal(state(canceled), "TASK_STATE_CANCELED");
steps.push("cancel");

const seen = await within(watching, "the subscription");
assert.equal(seen[0].$case, "task", "a subscription begins with the task");
assert.equal(state(seen.at(-1).value), "TASK_STATE_CANCELED", "and ends with the final status");
steps.push("subscribe");

await within(notified, "the webhook");
assert.equal(taken[0].headers["x-a2a-notification-token"], "opaque-to-the-agent");
assert.match(JSON.stringify(taken[0].body), new RegExp(idle.id));
steps.push("push");

await client.deleteTaskPushNotificationConfig(named);
await client.deleteTaskPushNotificationConfig(named);
assert.deepEqual(await configs(), []);
steps.push("delete");

webhook.close();
webhook.closeAllConnections();
console.log(JSON.stringify({ steps }));
