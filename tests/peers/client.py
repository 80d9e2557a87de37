"""One shape for the clients of both generations of the Python SDK: the interpreter has the one or the other."""

import contextlib

import mcp
from mcp import types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

if hasattr(mcp, "Client"):
    from httpx2 import AsyncClient
    from mcp import MCPError as ProtocolError

    MODES = ["legacy", "auto", "2026-07-28"]
else:
    from httpx import AsyncClient
    from mcp import ClientSession
    from mcp import McpError as ProtocolError

    MODES = ["legacy"]

__all__ = ["MODES", "ProtocolError", "connect", "on_http", "on_stdio", "types", "wire"]


def on_stdio(command, env):
    """The transport to a server that the client starts."""
    program, *args = [str(part) for part in command]
    return stdio_client(StdioServerParameters(command=program, args=args, env=env))


@contextlib.asynccontextmanager
async def on_http(url, token):
    """The transport to a server that listens."""
    headers = {"Authorization": f"Bearer {token}"}
    async with AsyncClient(headers=headers, timeout=30) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


@contextlib.asynccontextmanager
async def connect(transport, mode, **callbacks):
    """A session over a transport: `list_tools` and `call_tool` are the same in both generations."""
    if hasattr(mcp, "Client"):
        async with mcp.Client(transport, mode=mode, **callbacks) as client:
            yield client
    else:
        async with transport as (read, write, *_), ClientSession(read, write, **callbacks) as session:
            await session.initialize()
            yield session


def wire(model):
    """What came over the wire, under its own names."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
