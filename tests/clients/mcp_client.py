"""The official Python client of MCP against a running server: the loop of an agent, from the first call to the last."""

import asyncio
import json
import sys
import uuid

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


def answer(result):
    """The structured content of a call that must have succeeded; the text says the same."""
    told = result.model_dump(by_alias=True)
    assert not told["isError"], told
    assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
    return told["structuredContent"]


async def loop(session):
    tools = (await session.list_tools()).tools
    assert len(tools) == 14, [tool.name for tool in tools]
    created = answer(await session.call_tool("manage_items", {"operation": "create", "items": [{"title": "Parse dates"}]}))
    item = created["items"][0]["id"]
    actor = {"id": "agent-1", "kind": "subagent"}
    claimed = answer(await session.call_tool("claim_item", {
        "actor": actor, "claims": [{"itemId": item}], "requestId": str(uuid.uuid4())}))
    assert claimed["claimResults"][0]["outcome"] == "success", claimed
    for trigger in ["start", "complete"]:
        moved = answer(await session.call_tool("advance_item", {"transitions": [
            {"itemId": item, "trigger": trigger, "actor": actor}]}))
        assert moved["results"][0]["applied"], moved
    shown = answer(await session.call_tool("query_items", {"operation": "get", "id": item}))
    assert shown["role"] == "terminal", shown
    unknown = (await session.call_tool("query_items", {"operation": "get", "id": "DEFA-999"})).model_dump(by_alias=True)
    assert unknown["isError"], unknown


async def main(url):
    for path in ["/mcp", "/mcp/task-orchestrator"]:
        async with streamable_http_client(url + path) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                await loop(session)


asyncio.run(main(sys.argv[1]))
