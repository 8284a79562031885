"""The official Python client of MCP against the real program: the loop of an agent, from the first call to the last.

    mcp_client.py REVISION http URL
    mcp_client.py REVISION stdio PROGRAM ARGUMENT...

REVISION is what the client and the server must agree on, or "any". The client holds every answer against the schema that the list
of tools gave.
"""

import asyncio
import json
import sys
import uuid
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    # What it was called by the clients of 2025.
    from mcp.client.streamable_http import streamablehttp_client as streamable_http_client

ACTOR = {"id": "agent-1", "kind": "subagent"}


def answer(result):
    """The structured content of a call that must have succeeded; the text says the same."""
    told = result.model_dump(by_alias=True)
    assert not told["isError"], told
    assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
    return told["structuredContent"]


def request():
    return str(uuid.uuid4())


async def loop(session):
    """The loop of the task-orchestrator tools, each of which is called at least once."""
    tools = (await session.list_tools()).tools
    assert len(tools) == 14, [tool.name for tool in tools]
    assert all(tool.model_dump(by_alias=True)["outputSchema"] for tool in tools), "every tool says what it answers"
    called = set()

    async def call(tool, arguments):
        called.add(tool)
        return answer(await session.call_tool(tool, arguments))

    created = await call("manage_items", {"operation": "create", "items": [{"title": "Parse dates"}]})
    item = created["items"][0]["id"]
    claimed = await call("claim_item", {"actor": ACTOR, "claims": [{"itemId": item}], "requestId": request()})
    assert claimed["claimResults"][0]["outcome"] == "success", claimed
    tree = await call("create_work_tree", {
        "root": {"title": "Calendar"}, "children": [{"ref": "a", "title": "Weeks"}, {"ref": "b", "title": "Years"}],
        "deps": [{"from": "a", "to": "b"}]})
    root = tree["root"]["id"]
    children = {child["ref"]: child["id"] for child in tree["children"]}
    depends = await call("manage_dependencies", {"operation": "create", "dependencies": [
        {"fromItemId": item, "toItemId": children["a"]}]})
    assert depends, depends
    edges = await call("query_dependencies", {"itemId": children["a"], "includeItemInfo": True, "neighborsOnly": False})
    assert item in json.dumps(edges), edges
    blocked = await call("get_blocked_items", {"includeItemDetails": True, "includeAncestors": True})
    assert children["a"] in json.dumps(blocked), blocked
    ready = await call("get_next_item", {"includeDetails": True, "includeClaimed": True, "limit": 20})
    assert item in json.dumps(ready) and children["a"] not in json.dumps(ready), ready
    status = await call("get_next_status", {"itemId": children["a"]})
    assert item in json.dumps(status), status
    noted = await call("manage_notes", {"operation": "upsert", "notes": [
        {"itemId": item, "key": "done", "role": "work", "body": "Dates are read.", "actor": ACTOR}]})
    assert noted["upserted"] == 1, noted
    notes = await call("query_notes", {"operation": "list", "itemId": item})
    assert notes["notes"][0]["body"] == "Dates are read.", notes
    for trigger in ["start", "complete"]:
        moved = await call("advance_item", {"transitions": [{"itemId": item, "trigger": trigger, "actor": ACTOR}]})
        assert moved["results"][0]["applied"], moved
    for about in [{}, {"itemId": item, "includeAncestors": True}, {"since": "2020-01-01T00:00:00Z"}]:
        await call("get_context", about)
    closed = await call("complete_tree", {"rootId": root, "trigger": "cancel", "actor": ACTOR, "requestId": request()})
    assert children["b"] in json.dumps(closed), closed
    shown = await call("query_items", {"operation": "get", "id": item})
    assert shown["role"] == "terminal", shown
    for asked in [{"operation": "search", "query": "weeks"}, {"operation": "overview", "includeChildren": True}]:
        await call("query_items", asked)
    assert called == {tool.name for tool in tools}, called
    unknown = (await session.call_tool("query_items", {"operation": "get", "id": "DEFA-999"})).model_dump(by_alias=True)
    assert unknown["isError"], unknown


async def native(session):
    """The loop of the native tools."""
    assert len((await session.list_tools()).tools) == 13
    brief = {"objective": "Dates are read", "acceptanceCriteria": ["tests pass"]}
    planned = answer(await session.call_tool("plan", {"items": [{"title": "Parse dates", "brief": brief}]}))
    key = planned["trusted"]["items"][0]["key"]
    packet = answer(await session.call_tool("work", {"phase": "start", "id": key, "actor": ACTOR}))
    assert packet["untrusted"]["title"] == "Parse dates", packet
    done = answer(await session.call_tool("work", {
        "phase": "finish", "id": key, "fence": packet["trusted"]["fence"], "actor": ACTOR, "to": "complete",
        "verify": [{"id": "c1", "passed": True, "note": "seen"}], "requestId": request()}))
    assert done["trusted"]["applied"], done
    unknown = (await session.call_tool("get", {"id": "DEFA-999"})).model_dump(by_alias=True)
    assert unknown["isError"], unknown


def over(way, place, surface):
    """The two ends of a connection to a surface."""
    if way == "http":
        # Without a name it is the native surface.
        return streamable_http_client(f"{place[0]}/mcp" if surface == "docket" else f"{place[0]}/mcp/{surface}")
    program, *arguments = place
    return stdio_client(StdioServerParameters(command=program, args=[*arguments, "mcp", "--surface", surface]))


@asynccontextmanager
async def connected(revision, way, place, surface):
    async with over(way, place, surface) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            agreed = (await session.initialize()).model_dump(by_alias=True)["protocolVersion"]
            assert revision in ("any", agreed), agreed
            yield session


async def main(revision, way, *place):
    for surface, work in [("task-orchestrator", loop), ("docket", native)]:
        async with connected(revision, way, place, surface) as session:
            await work(session)


asyncio.run(main(*sys.argv[1:]))
