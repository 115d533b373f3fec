"""A plain A2A agent written with the official Python SDK and nothing of ours.

It converts amounts between currencies at fixed reference rates, asks into which where that is
not said, works in the background, and calls the client's webhook through the SDK's own push sender.

    currency_agent.py [--port 0] [--delay SECONDS] [--generation 1.0|0.3|both] [--blocking]

Where it blocks, it says nothing before it is done, and that by a mere message: it has no tasks and pushes nothing.

Prints one JSON line, {"url": …, "card": …}, once it listens.
"""

import argparse
import asyncio
import json
import re
import socket

import httpx
import uvicorn
from a2a.helpers import get_message_text, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

# Units of each currency for one euro.
RATES = {"EUR": 1.0, "USD": 1.08, "NOK": 11.6, "GBP": 0.85, "JPY": 162.0}
NAMES = {"euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "kroner": "NOK", "pounds": "GBP", "yen": "JPY"}


def currencies(text: str) -> list[str]:
    words = re.findall(r"[A-Za-z]+", text)
    found = [NAMES.get(word.lower(), word.upper()) for word in words]
    return [code for code in found if code in RATES]


class Currency(AgentExecutor):
    def __init__(self, delay: float, blocking: bool) -> None:
        self.delay = delay
        self.blocking = blocking
        self.runs = 0
        self.seen: list[str] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.runs += 1
        self.seen.append(context.message.message_id)
        if self.blocking:
            await asyncio.sleep(self.delay)
            await event_queue.enqueue_event(new_text_message("100 EUR is 1160.00 NOK.", role=Role.ROLE_AGENT))
            return
        if context.current_task is None:
            task = Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work(updater.new_agent_message([new_text_part("Looking up the rate")]))
        await asyncio.sleep(self.delay)
        # What the task was asked before counts too: the answer to a question says nothing alone.
        before = context.current_task.history if context.current_task else []
        said = [get_message_text(message) for message in before if message.role == Role.ROLE_USER]
        text = " ".join([*said, context.get_user_input()])
        amount = re.search(r"\d+(?:\.\d+)?", text)
        codes = currencies(text)
        if amount and len(set(codes)) == 1:
            await updater.requires_input(updater.new_agent_message([new_text_part("Into which currency?")]))
            return
        if not amount or len(set(codes)) < 2:
            await updater.reject(
                updater.new_agent_message([new_text_part("Give an amount and two currencies, as in '100 euros in kroner'.")])
            )
            return
        source, target = list(dict.fromkeys(codes))[:2]
        result = float(amount.group()) / RATES[source] * RATES[target]
        answer = f"{amount.group()} {source} is {result:.2f} {target} at the reference rate."
        await updater.add_artifact([new_text_part(answer)], name="conversion", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


def card(url: str, generation: str, blocking: bool) -> AgentCard:
    versions = ["1.0", "0.3"] if generation == "both" else [generation]
    return AgentCard(
        name="Currency",
        description="Converts amounts of money between currencies",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version) for version in versions
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=not blocking),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="convert",
                name="Convert money",
                description="Converts an amount from one currency into another: euros, dollars, kroner, pounds, yen",
                tags=["currency", "money"],
                examples=["How much is 100 euros in kroner?", "Convert 20 dollars to yen"],
            )
        ],
    )


async def serve(port: int, delay: float, generation: str, blocking: bool) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    executor = Currency(delay, blocking)
    agent_card = card(url, generation, blocking)
    configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient(timeout=10) as client:
        handler = DefaultRequestHandler(
            agent_executor=executor,
            task_store=InMemoryTaskStore(),
            agent_card=agent_card,
            push_config_store=configs,
            push_sender=BasePushNotificationSender(client, configs),
        )

        async def stats(_request):
            return JSONResponse({"runs": executor.runs, "messageIds": executor.seen})

        routes = [
            *create_agent_card_routes(agent_card),
            *create_jsonrpc_routes(handler, rpc_url="/", enable_v0_3_compat=generation != "1.0"),
            Route("/stats", stats),
        ]
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning", lifespan="off"))
        print(json.dumps({"url": url, "card": url + ".well-known/agent-card.json"}), flush=True)
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.3, help="seconds the work takes")
    parser.add_argument("--generation", choices=["1.0", "0.3", "both"], default="1.0")
    parser.add_argument("--blocking", action="store_true", help="answers when it is done, with a mere message")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.delay, arguments.generation, arguments.blocking))
