"""A server written with the Python SDK, as its users write them: FastMCP in version 1, MCPServer in version 2.

    fastmcp.py                  on stdio
    fastmcp.py http PORT        on Streamable HTTP
    fastmcp.py answers PORT     the same, answering with plain JSON where it can
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

try:
    from mcp import MCPError
    from mcp.server.mcpserver import Audio, Context, Image, MCPServer

    VERSION = 2
except ImportError:
    from mcp.server.fastmcp import Audio, Context, FastMCP as MCPServer, Image

    VERSION = 1
from mcp.types import BlobResourceContents, CallToolResult, EmbeddedResource, ResourceLink, TextContent
from mcp.types import TextResourceContents
from pydantic import BaseModel

MODE, PORT = (sys.argv[1:] + ["stdio", "0"])[:2]
LISTEN = {"host": "127.0.0.1", "port": int(PORT), "json_response": MODE == "answers"}
server = MCPServer("peer", **(LISTEN if VERSION == 1 else {}))


class Forecast(BaseModel):
    city: str
    celsius: float
    wind: dict[str, int]


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
def forecast(city: str) -> Forecast:
    """Structured content, with an output schema."""
    return Forecast(city=city, celsius=-3.5, wind={"knots": 12})


@server.tool()
def picture() -> Image:
    """An image."""
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


@server.tool()
def sound() -> Audio:
    """Audio."""
    return Audio(data=b"RIFF\0\0\0\0WAVE", format="wav")


@server.tool()
def documents() -> list[EmbeddedResource | ResourceLink]:
    """Two embedded resources and a link."""
    return [
        EmbeddedResource(
            type="resource",
            resource=TextResourceContents(uri="memo://text", mimeType="text/plain", text="tab\t\u2014 \U0001f600"),
        ),
        EmbeddedResource(
            type="resource",
            resource=BlobResourceContents(uri="memo://blob", mimeType="application/octet-stream", blob="AAEC/w=="),
        ),
        ResourceLink(type="resource_link", uri="memo://link", name="a link", size=3),
    ]


@server.tool(structured_output=False)
def numbers() -> CallToolResult:
    """Integers that a double does not hold."""
    return CallToolResult(
        content=[TextContent(type="text", text="exact", _meta={"peer/most": 2**64 - 1})],
        structuredContent={"most": 2**64 - 1, "least": -(2**63), "beyond": 2**53 + 1},
    )


@server.tool()
def fail(reason: str) -> str:
    """Fails as a tool does: the result says so."""
    raise ValueError(reason)


@server.tool()
def refuse(reason: str) -> str:
    """Fails as a request does: version 2 answers with an error of JSON-RPC."""
    if VERSION == 2:
        raise MCPError(code=-32050, message=reason)
    raise ValueError(reason)


@server.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and tells how far it is."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"at {number}")
        await asyncio.sleep(0.01)
    return f"counted to {to}"


@server.tool()
async def wait(marker: str) -> str:
    """Waits a minute, and leaves what it saw in a file: `started`, then `cancelled`."""
    Path(marker).write_text("started")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(marker).write_text("cancelled")
        raise
    return "waited"


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Adds a tool and tells the client that the list changed."""
    server.add_tool(lambda: "grown", name=name, description="Was not here before.")
    await context.session.send_tool_list_changed()
    return name


@server.tool()
def environment() -> dict[str, str]:
    """What it was given."""
    return dict(os.environ)


@server.tool()
def headers(context: Context) -> dict[str, str]:
    """What came with the request, over HTTP."""
    return dict(context.headers if VERSION == 2 else context.request_context.request.headers)


@server.tool()
def folder() -> str:
    """Where it works."""
    return os.getcwd()


@server.tool()
def die(words: str) -> str:
    """Is gone before it answers."""
    print(words, file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL) if words == "KILL" else os._exit(7)


@server.tool()
def process() -> int:
    """Its process id."""
    return os.getpid()


if MODE == "stdio":
    server.run()
elif VERSION == 1:
    server.run("streamable-http")
else:
    server.run("streamable-http", **LISTEN)
