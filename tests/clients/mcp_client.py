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


async def native(session):
    """The loop of the native tools."""
    assert len((await session.list_tools()).tools) == 13
    brief = {"objective": "Dates are read", "acceptanceCriteria": ["tests pass"]}
    planned = answer(await session.call_tool("plan", {"items": [{"title": "Parse dates", "brief": brief}]}))
    key = planned["trusted"]["items"][0]["key"]
    actor = {"id": "agent-1", "kind": "subagent"}
    packet = answer(await session.call_tool("work", {"phase": "start", "id": key, "actor": actor}))
    assert packet["untrusted"]["title"] == "Parse dates", packet
    done = answer(await session.call_tool("work", {
        "phase": "finish", "id": key, "fence": packet["trusted"]["fence"], "actor": actor, "to": "complete",
        "verify": [{"id": "c1", "passed": True, "note": "seen"}], "requestId": str(uuid.uuid4())}))
    assert done["trusted"]["applied"], done
    unknown = (await session.call_tool("get", {"id": "DEFA-999"})).model_dump(by_alias=True)
    assert unknown["isError"], unknown


async def main(url):
    for path, work in [("/mcp", native), ("/mcp/task-orchestrator", loop)]:
        async with streamable_http_client(url + path) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                await work(session)


asyncio.run(main(sys.argv[1]))
