// The official TypeScript client of MCP against the real program: the loop of an agent, from the first call to the last.
//
//   mcp_client.mjs http URL WORKER_KEY VIEWER_KEY
//   mcp_client.mjs stdio PROGRAM ARGUMENT…

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const actor = { id: "agent-1", kind: "subagent" };

/** The structured content of a call that must have succeeded; the text says the same. */
function answer(result) {
  assert(!result.isError, JSON.stringify(result));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

/** A client that has shaken hands, and a way to call a tool that must succeed. */
async function connected(transport) {
  const client = new Client({ name: "tests", version: "1" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "docket");
  const call = async (name, args, options) => answer(await client.callTool({ name, arguments: args }, undefined, options));
  return { client, call };
}

/** Everything an agent does with one item. The client holds every answer against the schema that the tool list gave. */
async function loop({ client, call }) {
  await client.ping();
  const { tools } = await client.listTools();
  assert(tools.every((tool) => tool.outputSchema), "every tool says what it answers");
  const names = tools.map((tool) => tool.name);
  for (const name of ["manage_items", "claim_item", "advance_item", "manage_notes", "query_items"]) {
    assert(names.includes(name), `${name} is not in ${names}`);
  }
  const made = await call("manage_items", { operation: "create", items: [{ title: "Parse dates" }] });
  const item = made.items[0].id;
  const claimed = await call("claim_item", { actor, claims: [{ itemId: item }], requestId: randomUUID() });
  assert.equal(claimed.claimResults[0].outcome, "success", JSON.stringify(claimed));
  const advance = async (trigger) => {
    const moved = await call("advance_item", { transitions: [{ itemId: item, trigger, actor }] });
    assert(moved.results[0].applied, JSON.stringify(moved));
  };
  await advance("start");
  const noted = await call("manage_notes", {
    operation: "upsert",
    notes: [{ itemId: item, key: "done", role: "work", body: "Dates are read.", actor }],
  });
  assert.equal(noted.upserted, 1, JSON.stringify(noted));
  await advance("complete");
  const shown = await call("query_items", { operation: "get", id: item });
  assert.equal(shown.role, "terminal", JSON.stringify(shown));
  const notes = await call("query_notes", { operation: "list", itemId: item, includeBody: true });
  assert.equal(notes.notes[0].body, "Dates are read.", JSON.stringify(notes));
  // What an agent should read is an answer; what its program did wrong is an error of the protocol.
  const missing = await client.callTool({ name: "query_items", arguments: { operation: "get", id: "DEFA-999" } });
  assert(missing.isError && missing.structuredContent.error.code, JSON.stringify(missing));
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });
}

/** A wait for work that tells of its progress. */
async function progress({ call }) {
  let told = 0;
  const wait = { actor: { id: "idle", kind: "subagent" }, claims: [{ selector: { waitMs: 6000 } }], requestId: randomUUID() };
  await call("claim_item", wait, { onprogress: () => (told += 1) });
  assert(told > 0, "nothing was told in six seconds");
}

/** Whoever gives up waiting is handed nothing later. */
async function cancelled({ client, call }) {
  const gone = { id: "gone", kind: "subagent" };
  const wait = { actor: gone, claims: [{ selector: { waitMs: 30_000 } }], requestId: randomUUID() };
  const giving = new AbortController();
  const waiting = client.callTool({ name: "claim_item", arguments: wait }, undefined, { signal: giving.signal });
  setTimeout(() => giving.abort("no more"), 500);
  await assert.rejects(waiting);
  const made = await call("manage_items", { operation: "create", items: [{ title: "Not for the gone" }] });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const mine = { actor, claims: [{ itemId: made.items[0].id }], requestId: randomUUID() };
  const claimed = await call("claim_item", mine);
  assert.equal(claimed.claimResults[0].outcome, "success", JSON.stringify(claimed));
}

function over(url, key) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

async function http(base, worker, viewer) {
  const first = await connected(over(`${base}/mcp/task-orchestrator`, worker));
  await loop(first);
  await first.client.close();
  // Without a name it is the native surface.
  const native = await connected(over(`${base}/mcp`, worker));
  const tools = (await native.client.listTools()).tools.map((tool) => tool.name);
  assert(tools.includes("work") && !tools.includes("remove"), `${tools}`);
  await native.client.close();
  const session = await connected(over(`${base}/mcp/task-orchestrator`, worker));
  await progress(session);
  await cancelled(session);
  await session.client.close();
  // A viewer is offered nothing that it may not do, and refused where it tries all the same.
  const { client } = await connected(over(`${base}/mcp/task-orchestrator`, viewer));
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert(names.includes("query_items") && !names.includes("claim_item"), `${names}`);
  const refused = await client.callTool({ name: "manage_items", arguments: { operation: "create", items: [{ title: "x" }] } });
  assert(refused.isError, JSON.stringify(refused));
  await client.close();
  for (const key of [undefined, `${worker.slice(0, -4)}0000`]) {
    await assert.rejects(new Client({ name: "tests", version: "1" }).connect(over(`${base}/mcp`, key)), { code: 401 });
  }
}

async function stdio(command, args) {
  const session = await connected(new StdioClientTransport({ command, args, cwd: process.cwd() }));
  await loop(session);
  await progress(session);
  await cancelled(session);
  await session.client.close();
}

const [way, first, ...rest] = process.argv.slice(2);
await (way === "http" ? http(first, ...rest) : stdio(first, rest));
