"""Drives an agent of ours with the official Python SDK's client.

card -> send -> stream -> get -> list -> ask back -> subscribe -> cancel -> push configuration, in one generation and
binding. Prints one line of JSON with the steps that were taken; ends with 1 and a sentence where one is wrong.
"""

import argparse
import asyncio
import http.server
import json
import sys
import threading
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as wire
from a2a.utils.errors import TaskNotFoundError

COMPLETE = "Will it rain in Oslo tomorrow?"
ASKS_BACK = "What will the weather be tomorrow?"


class Webhook:
    """Takes push notifications and remembers them."""

    def __init__(self):
        self.taken = []
        self.came = threading.Event()
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                webhook.taken.append((dict(self.headers), json.loads(body)))
                self.send_response(204)
                self.end_headers()
                webhook.came.set()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/push"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def state(task):
    return wire.TaskState.Name(task.status.state)


def check(holds, said, seen=None):
    if not holds:
        raise AssertionError(f"{said}: {seen}")


async def walk(url, token, generation, binding):
    steps = []
    http_client = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    card = await A2ACardResolver(http_client, url).get_agent_card()
    check(card.name and card.skills, "the card has a name and skills", card)
    wanted = [
        offered
        for offered in card.supported_interfaces
        if offered.protocol_binding == binding and offered.protocol_version.startswith(generation)
    ]
    check(wanted, f"the card offers {binding} {generation}", card.supported_interfaces)
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(wanted)
    check(card.capabilities.streaming, "the card says that it streams", card.capabilities)
    check(card.capabilities.push_notifications, "the card says that it pushes", card.capabilities)
    steps.append("card")

    def client(streaming):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=http_client,
            supported_protocol_bindings=[binding],
        )
        return ClientFactory(config).create(card)

    def request(text, **of_task):
        part = wire.Part(text=text)
        message = wire.Message(
            role=wire.ROLE_USER, message_id=str(uuid.uuid4()), parts=[part], **of_task
        )
        return wire.SendMessageRequest(message=message)

    blocking, streaming = client(False), client(True)

    answers = [answer async for answer in blocking.send_message(request(COMPLETE))]
    check(len(answers) == 1, "a blocking send has one answer", answers)
    sent = answers[0].task
    check(state(sent) == "TASK_STATE_COMPLETED", "a blocking send ends with the result", sent)
    check("Oslo" in str(sent.artifacts), "the result is in an artifact", sent)
    steps.append("send")

    events = [event async for event in streaming.send_message(request("Will it rain in Bergen tomorrow?"))]
    kinds = [event.WhichOneof("payload") for event in events]
    check(kinds[0] == "task", "a stream begins with the task", kinds)
    check("artifact_update" in kinds, "a stream carries the artifact", kinds)
    check(
        kinds[-1] == "status_update" and state(events[-1].status_update) == "TASK_STATE_COMPLETED",
        "a stream ends with the final status",
        events[-1],
    )
    streamed = events[0].task.id
    steps.append("stream")

    task = await blocking.get_task(wire.GetTaskRequest(id=streamed))
    check(state(task) == "TASK_STATE_COMPLETED" and "Bergen" in str(task.artifacts), "get gives the task", task)
    # 0.3 does not tell 0 from no wish at all.
    if generation == "1.0":
        bare = await blocking.get_task(wire.GetTaskRequest(id=streamed, history_length=0))
        check(not bare.history, "historyLength 0 leaves the history out", bare)
    try:
        await blocking.get_task(wire.GetTaskRequest(id=str(uuid.uuid4())))
        raise AssertionError("an unknown task was found")
    except TaskNotFoundError:
        pass
    steps.append("get")

    # 0.3 has no list over JSON-RPC, and the SDK has none for it at all.
    if generation == "1.0":
        first = await blocking.list_tasks(wire.ListTasksRequest(page_size=1))
        check(len(first.tasks) == 1 and first.next_page_token, "a page has a next one", first)
        check(first.tasks[0].id == streamed, "the newest comes first", first)
        check(first.total_size >= 2, "the total counts all pages", first)
        second = await blocking.list_tasks(
            wire.ListTasksRequest(page_size=1, page_token=first.next_page_token, include_artifacts=True)
        )
        check(second.tasks[0].id == sent.id, "then the one before", second)
        check(second.tasks[0].artifacts and not first.tasks[0].artifacts, "artifacts only when asked for", second)
        steps.append("list")

    [asked] = [answer async for answer in blocking.send_message(request(ASKS_BACK))]
    asked = asked.task
    check(state(asked) == "TASK_STATE_INPUT_REQUIRED", "the agent asks back", asked)
    told = request("In Trondheim", task_id=asked.id, context_id=asked.context_id)
    [told] = [answer async for answer in blocking.send_message(told)]
    check(told.task.id == asked.id and "Trondheim" in str(told.task.artifacts), "the same task goes on", told)
    steps.append("continue")

    async def configs(task_id):
        """Their ids; None where the SDK cannot ask."""
        if (generation, binding) == ("0.3", "HTTP+JSON"):
            return None
        listed = await blocking.list_task_push_notification_configs(
            wire.ListTaskPushNotificationConfigsRequest(task_id=task_id)
        )
        return [config.id for config in listed.configs]

    webhook = Webhook()
    [idle] = [answer async for answer in blocking.send_message(request(ASKS_BACK))]
    idle = idle.task
    config = wire.TaskPushNotificationConfig(
        task_id=idle.id, id="mine", url=webhook.url, token="opaque-to-the-agent"
    )
    made = await blocking.create_task_push_notification_config(config)
    check(made.id and made.url == webhook.url, "the configuration is kept", made)
    check("opaque" not in str(made), "its token is not shown", made)
    named = {"task_id": idle.id, "id": made.id}
    found = await blocking.get_task_push_notification_config(wire.GetTaskPushNotificationConfigRequest(**named))
    check(found.url == webhook.url, "and found", found)
    check(await configs(idle.id) in ([made.id], None), "and listed", made)
    steps.append("push configuration")

    async def watch():
        return [event async for event in streaming.subscribe(wire.SubscribeToTaskRequest(id=idle.id))]

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.5)
    canceled = await blocking.cancel_task(wire.CancelTaskRequest(id=idle.id))
    check(state(canceled) == "TASK_STATE_CANCELED", "cancel cancels", canceled)
    steps.append("cancel")
    seen = await asyncio.wait_for(watching, 20)
    check(seen[0].WhichOneof("payload") == "task", "a subscription begins with the task", seen)
    check(state(seen[-1].status_update) == "TASK_STATE_CANCELED", "and ends with the final status", seen)
    steps.append("subscribe")

    came = await asyncio.to_thread(webhook.came.wait, 20)
    check(came, "the webhook was called")
    headers, body = webhook.taken[0]
    headers = {name.lower(): value for name, value in headers.items()}
    check(headers.get("x-a2a-notification-token") == "opaque-to-the-agent", "with the token", headers)
    check(idle.id in json.dumps(body), "about the task", body)
    steps.append("push")

    # The SDK cannot delete one over REST of 0.3 either.
    if await configs(idle.id) is not None:
        gone = wire.DeleteTaskPushNotificationConfigRequest(**named)
        await blocking.delete_task_push_notification_config(gone)
        await blocking.delete_task_push_notification_config(gone)
        check(not await configs(idle.id), "a deleted configuration is gone", gone)
        steps.append("delete")
    await http_client.aclose()
    return steps


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url", help="the agent's URL")
    arguments.add_argument("--token", required=True, help="an access token for it")
    arguments.add_argument("--generation", choices=["1.0", "0.3"], default="1.0")
    arguments.add_argument("--binding", choices=["JSONRPC", "HTTP+JSON"], default="JSONRPC")
    given = arguments.parse_args()
    steps = asyncio.run(walk(given.url, given.token, given.generation, given.binding))
    json.dump({"steps": steps}, sys.stdout)


if __name__ == "__main__":
    main()
