"""A plain MCP server written with the official Python SDK and nothing of ours, of its second version, which speaks the
revision 2026-07-28, or of its first, which knows the handshake alone.

    mcp_server.py [--json] [--fast]

With --fast it is written with FastMCP, which another maker has built around the SDK's types.

Prints one JSON line, {"url": …}, once it listens.
"""

import argparse
import asyncio
import json
import socket

import uvicorn
from mcp.types import ToolAnnotations

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server


def server(fast: bool) -> Server:
    if fast:
        from fastmcp import FastMCP

        homes = FastMCP("homes")
    else:
        homes = Server("homes")

    @homes.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def airbnb_search(location: str, adults: int = 1) -> dict:
        """Finds places to stay."""
        return {"searchResults": [{"id": "1", "name": f"A flat in {location} for {adults}"}]}

    @homes.tool()
    def text(location: str) -> str:
        """Says something that is no JSON."""
        return f"Nice place, {location}"

    @homes.tool()
    def broken(location: str) -> dict:
        """Fails."""
        raise ValueError(f"no {location} today")

    return homes


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="answers as JSON, not as streams of events")
    parser.add_argument("--fast", action="store_true", help="by FastMCP")
    arguments = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0))
    homes = server(arguments.fast)
    if arguments.fast:
        app = homes.http_app(json_response=arguments.json)
    elif hasattr(homes, "settings") and hasattr(homes.settings, "json_response"):
        homes.settings.json_response = arguments.json
        app = homes.streamable_http_app()
    else:
        app = homes.streamable_http_app(json_response=arguments.json)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


asyncio.run(main())
