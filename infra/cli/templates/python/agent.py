"""AGENT_NAME: an A2A agent on the official Python SDK. It counts the words of a text; put your own work in `execute`.

    python agent.py [--port 9100] [--no-join]

Once it listens it registers itself at the running Switchyard, and says so in one line of JSON.
"""

import argparse
import asyncio
import json
import os
import pathlib
import socket
from typing import Any

import httpx
import uvicorn
from a2a.helpers import get_message_text, new_raw_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware

from hosts import Hosts, refuse

# Where the running system says what is where. It holds a token that lets its bearer register agents: keep it to yourself.
ENDPOINTS = os.environ.get("SWITCHYARD_ENDPOINTS", "ENDPOINTS_FILE")


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        # The SDK has seen to these.
        assert context.message and context.task_id and context.context_id
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        # Whoever streams, or gave a webhook, hears of each state: the SDK streams and pushes them.
        await updater.start_work(updater.new_agent_message([new_text_part("Counting")]))

        # What the task was asked before counts too: the answer to a question says nothing alone.
        before = context.current_task.history if context.current_task else []
        said = [get_message_text(message) for message in before if message.role == Role.ROLE_USER]
        text = " ".join([*said, context.get_user_input()]).partition(":")[2].strip()
        if not text:
            # The task waits for its user. `updater.requires_auth` with a link is the same for a consent of your own.
            question = "Which text? Write it behind a colon, as in 'count: the quick brown fox'."
            await updater.requires_input(updater.new_agent_message([new_text_part(question)]))
            return

        words = text.split()
        table = "word,letters\n" + "".join(f"{word},{len(word)}\n" for word in words)
        await updater.add_artifact([new_text_part(f"{len(words)} words, {len(text)} characters.")], name="count")
        await updater.add_artifact([new_raw_part(table.encode(), media_type="text/csv", filename="words.csv")], name="words")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url: str) -> AgentCard:
    # Hosts find the agent by these words alone: say what it does in a sentence, and what people ask in three to six examples.
    return AgentCard(
        name="AGENT_NAME",
        description="Counts the words and characters of a text",
        version="0.1.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain", "text/csv"],
        skills=[
            AgentSkill(
                id="count",
                name="Count words",
                description="Counts how many words and characters a text has, and lists them as a table",
                tags=["text"],
                examples=[
                    "Count the words: the quick brown fox",
                    "How many words has this text: all that glitters",
                    "How long is this text: hello world",
                ],
            )
        ],
    )


def endpoints() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pathlib.Path(ENDPOINTS).read_text())
    return found


async def join(client: httpx.AsyncClient, url: str) -> str:
    """Registers the agent at the running system; what became of that, in a few words."""
    try:
        system = endpoints()
        answer = await client.post(
            system["registry"].rstrip("/") + "/agents",
            headers={"authorization": f"Bearer {system['registry_token']}"},
            json={"cardUrl": f"{url}.well-known/agent-card.json"},
        )
    except (OSError, ValueError, httpx.HTTPError) as error:
        return f"no system is reached ({error}); start one, then: switchyard agent register {url}"
    return f"registered as {answer.json()['id']}" if answer.is_success else f"refused: {answer.text}"


async def serve(port: int, joins: bool) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    # From here on callers wait instead of being refused: the registry calls while it is told of the agent.
    listener.listen()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient(timeout=30) as client:
        handler = DefaultRequestHandler(
            agent_executor=Executor(),
            # In memory: give it a store of your own, and a task survives a restart.
            task_store=InMemoryTaskStore(),
            agent_card=card(url),
            push_config_store=configs,
            push_sender=BasePushNotificationSender(client, configs),
        )
        routes = [*create_agent_card_routes(card(url)), *create_jsonrpc_routes(handler, rpc_url="/")]
        # A token that comes must be good: see hosts.py.
        verified = Middleware(AuthenticationMiddleware, backend=Hosts(client, url, endpoints), on_error=refuse)
        app = Starlette(routes=routes, middleware=[verified])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        said = await join(client, url) if joins else "not registered"
        print(json.dumps({"url": url, "card": f"{url}.well-known/agent-card.json", "joined": said}), flush=True)
        await serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=9100, help="0 takes any")
    parser.add_argument("--no-join", action="store_true", help="does not register it")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, not arguments.no_join))
