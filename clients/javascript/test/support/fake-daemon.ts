// A listener that says what a daemon never would.
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { type Server, type Socket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class FakeDaemon {
  readonly socket: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  private constructor(folder: string, answer: (connection: Socket, received: string) => void) {
    this.#folder = folder;
    this.socket = join(folder, "s");
    this.#server = createServer((connection) => {
      this.#connections.add(connection);
      connection.on("error", () => {});
      connection.on("data", (chunk) => answer(connection, chunk.toString("latin1")));
    });
  }

  /** Starts one that calls `answer` with each chunk that it receives. */
  static async start(answer: (connection: Socket, received: string) => void): Promise<FakeDaemon> {
    const fake = new FakeDaemon(await mkdtemp(join(tmpdir(), "axlr-js-")), answer);
    fake.#server.listen(fake.socket);
    await once(fake.#server, "listening");
    await chmod(fake.socket, 0o600);
    return fake;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A completed answer to `server.ping`. */
export function pong(requestId: string): string {
  const time = "2026-01-02T03:04:05.000000000Z";
  const answer = {
    protocol_version: 1,
    request_id: requestId,
    tool: "server.ping",
    status: "completed",
    started_at: time,
    finished_at: time,
    duration_ms: 0,
    output: {},
    error: null,
  };
  return `${JSON.stringify(answer)}\n`;
}
