"""The Python SDK as people use it: over HTTP (an address) or as a child process (a command), all tools, one call, one mistake."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def ask(read, write):
    async with ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = (await session.list_tools()).tools
        answer = await session.call_tool("services", {})
        deploys = await session.call_tool("deploys", {"service": "<b>shop</b>", "since": "2h"})
        wrong = await session.call_tool("search", {"query": "{}"})
        print(json.dumps({"server": hello.serverInfo.name, "version": hello.protocolVersion, "tools": sorted(t.name for t in tools),
                          "schemas": all(t.inputSchema["type"] == "object" for t in tools),
                          "text": answer.content[0].text, "error": bool(answer.isError), "deploys": deploys.content[0].text,
                          "wrong": wrong.content[0].text, "wrong_is_error": bool(wrong.isError)}))


async def main(words):
    if words[0].startswith("http"):
        async with streamable_http_client(words[0]) as (read, write, _):
            await ask(read, write)
    else:
        async with stdio_client(StdioServerParameters(command=words[0], args=words[1:])) as (read, write):
            await ask(read, write)


asyncio.run(main(sys.argv[1:]))
