"""An MCP server made with the official Python SDK: mcp_server.py stdio | sse PORT | streamable-http PORT."""

import os
import subprocess
import sys

from mcp.server.fastmcp import FastMCP, Image

transport = sys.argv[1]
port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = FastMCP("peer", host="127.0.0.1", port=port)


@server.tool(description="Adds numbers.")
def add(numbers: list[int], options: dict[str, bool] | None = None) -> str:
    return f"{sum(numbers)} {options}"


@server.tool(description="Fails.")
def fail() -> str:
    raise ValueError("as it should")


@server.tool(description="Draws.")
def draw() -> Image:
    return Image(data=b"hello", format="png")


@server.tool(description="Returns more than a line of 64 KiB.")
def large() -> str:
    return "x" * 200_000


@server.tool(description="Shows a variable.")
def variable(name: str) -> str:
    return os.environ.get(name, "(unset)")


@server.tool(description="Leaves a child behind.")
def leave() -> str:
    return str(subprocess.Popen(["sleep", "300"]).pid)


if transport != "stdio":

    @server.tool(description="Shows a header of this request.")
    def header(name: str) -> str:
        return server.get_context().request_context.request.headers.get(name, "(none)")


server.run(transport=transport)
