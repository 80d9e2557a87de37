// A server written with the TypeScript SDK that knows protocol revision 2026-07-28 only: `initialize` is refused.
//
//     modern.mjs              on stdio
//     modern.mjs http PORT    on Streamable HTTP
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = (text) => ({ content: [{ type: "text", text }] });

function peer() {
  const server = new McpServer({ name: "modern", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, async ({ text: said }) => text(said));
  server.registerTool("fail", { inputSchema: z.object({ reason: z.string() }) }, async ({ reason }) => {
    throw new Error(reason);
  });
  server.registerTool("count", { inputSchema: z.object({ to: z.number().int() }) }, async ({ to }, context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      const params = { progressToken, progress, total: to };
      if (progressToken !== undefined) await context.mcpReq.notify({ method: "notifications/progress", params });
      await sleep(10);
    }
    return text(`counted to ${to}`);
  });
  server.registerTool("wait", { inputSchema: z.object({ marker: z.string() }) }, async ({ marker }, context) => {
    writeFileSync(marker, "started");
    try {
      await sleep(60_000, undefined, { signal: context.mcpReq.signal });
    } catch (error) {
      writeFileSync(marker, "cancelled");
      throw error;
    }
    return text("waited");
  });
  return server;
}

const [mode, port] = process.argv.slice(2);
if (mode === "http") {
  const handler = createMcpHandler(peer, { legacy: "reject" });
  createServer(async (request, response) => {
    const body = [];
    for await (const chunk of request) body.push(chunk);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        body: body.length ? Buffer.concat(body) : undefined,
        signal: gone.signal,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  }).listen(Number(port), "127.0.0.1");
} else {
  serveStdio(peer, { legacy: "reject" });
}
