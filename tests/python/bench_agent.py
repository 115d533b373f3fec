"""The smallest agent on the official Python SDK, with its SQLite task store: a peer of the A2A bench.

Every message becomes a task that works, has one artifact, and completes. Prints one line of JSON, {"url": ...}, once
it listens. Needs, besides requirements.txt, a2a-sdk[sqlite].
"""

import argparse
import asyncio
import json
import socket

import uvicorn
from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        task = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        await updater.add_artifact([new_text_part("the same to you")], name="answer", last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def serve(database):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = AgentCard(
        name="Echo",
        description="Answers at once",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Answers at once", tags=["echo"])],
    )
    # Writers wait for each other instead of failing.
    engine = create_async_engine(f"sqlite+aiosqlite:///{database}", connect_args={"timeout": 60})
    store = DatabaseTaskStore(engine)
    await store.initialize()
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=store, agent_card=card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, rpc_url="/")]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off"))
    print(json.dumps({"url": url}), flush=True)
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", help="the SQLite file, made if it is not there")
    asyncio.run(serve(parser.parse_args().database))
