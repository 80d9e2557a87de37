// A server of pages: an empty one or one that is given, and the package's modules below /axlr.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { join, normalize } from "node:path";

const EMPTY = '<!doctype html><meta charset="utf-8"><title>a page</title><link rel="icon" href="data:,">';

export class Pages {
  readonly origin: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${port}`;
  }

  /** Serves them on a free port, and so from an origin of their own. */
  static async start(page: () => string = () => EMPTY): Promise<Pages> {
    const server = createServer(async (request, response) => {
      const path = normalize(new URL(request.url ?? "/", "http://pages").pathname);
      if (!path.startsWith("/axlr/")) {
        response.writeHead(200, { "Content-Type": "text/html" }).end(page());
        return;
      }
      const module = await readFile(join("dist", path.slice("/axlr/".length))).catch(() => undefined);
      response.writeHead(module ? 200 : 404, { "Content-Type": "text/javascript" }).end(module);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return new Pages(server, typeof address === "object" && address ? address.port : 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
