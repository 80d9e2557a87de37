// A server that answers what the bridge never would.
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";

type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => void;

export class FakeBridge {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Starts one that answers every request so. */
  static async start(answer: Answer): Promise<FakeBridge> {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => answer(response, request, body));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return new FakeBridge(server, typeof address === "object" && address ? address.port : 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** A line of a stream: a chunk. */
export function chunk(t: "out" | "err", bytes: string | readonly number[]): string {
  return `${JSON.stringify({ t, b: Buffer.from(bytes as string).toString("base64") })}\n`;
}

/** A line of a stream: the last. */
export function exit(code: number): string {
  return `${JSON.stringify({ t: "exit", code })}\n`;
}
