// A request that tells what happens while it runs.
import type { Connection } from "./connection.js";
import type { EventLine } from "./events.js";
import type { Events, ExecSignalArguments } from "./generated.js";
import { STDIN_CHUNK_BYTES } from "./limits.js";
import { type Output, type Response, type StreamingTool, type ToolName, outputOf } from "./message.js";

/**
 * A request in flight, and the events that it sends: `for await (const event of running)`.
 *
 * Leaving that loop early cancels the request. At most 32 events wait to be taken; while they do, the connection is not
 * read, which slows the daemon's stream down to the child's pipe, and holds up the answers of other requests on it. So
 * take events in one async function while another writes, or give a slow consumer a client of its own.
 * {@link response} and {@link output} throw events away that nobody iterates over.
 */
export class Running<T extends StreamingTool> implements AsyncIterable<Events[T]> {
  /** Its id, on its connection. */
  readonly requestId: string;
  readonly #connection: Connection;
  readonly #events: EventLine;
  readonly #response: Promise<Response<T>>;
  readonly #signal: AbortSignal | undefined;
  /** Whether the events are being taken, or thrown away. */
  #isIterated = false;

  /** @internal See {@link Client.stream}. */
  constructor(
    connection: Connection,
    requestId: string,
    events: EventLine,
    response: Promise<Response<T>>,
    signal: AbortSignal | undefined,
  ) {
    this.requestId = requestId;
    this.#connection = connection;
    this.#events = events;
    this.#response = response;
    this.#signal = signal;
    // Who iterates learns of a lost connection at the end of the loop; nobody may be waiting for it until then.
    response.catch(() => {});
  }

  /**
   * The events, in order, once.
   *
   * @throws {ConnectionLostError} after the last event, when the connection ended before the answer came.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Events[T], void, undefined> {
    if (this.#isIterated) throw new TypeError("events are taken once, and before the answer is waited for");
    this.#isIterated = true;
    let isOver = false;
    try {
      for (;;) {
        const event = await this.#events.take();
        if (event === undefined) break;
        yield event as Events[T];
      }
      isOver = true;
      await this.#response;
    } finally {
      if (!isOver) {
        this.#events.discard();
        this.cancel();
      }
    }
  }

  /**
   * The daemon's whole answer, whatever its status.
   *
   * @throws {ConnectionLostError} when none comes.
   */
  response(): Promise<Response<T>> {
    if (!this.#isIterated) this.#events.discard();
    this.#isIterated = true;
    return this.#response;
  }

  /** The output of the answer. Throws as {@link Client.call}. */
  async output(): Promise<Output<T>> {
    return outputOf(await this.response(), this.#signal);
  }

  /** Asks for its end; the answer still comes. */
  cancel(): void {
    this.#connection.cancel(this.requestId);
  }

  /**
   * Writes to the stdin of an exec that was started with `stdin_open`. Resolves when the pipe took it all.
   *
   * @throws {RefusedError} `not_running` when the exec ended; `overloaded` when too much waits already.
   */
  async write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.length);
    for (let at = 0; at < bytes.length; at += STDIN_CHUNK_BYTES) {
      const base64 = bytes.toString("base64", at, Math.min(at + STDIN_CHUNK_BYTES, bytes.length));
      await this.#control("exec.write", { request_id: this.requestId, base64 });
    }
  }

  /** Closes the stdin of an exec that was started with `stdin_open`. Throws as {@link write}. */
  async end(): Promise<void> {
    await this.#control("exec.write", { request_id: this.requestId, data: "", eof: true });
  }

  /**
   * Signals the process group of an exec.
   *
   * @throws {RefusedError} `not_running` when it ended.
   */
  async signal(signal: ExecSignalArguments["signal"]): Promise<void> {
    await this.#control("exec.signal", { request_id: this.requestId, signal });
  }

  async #control(tool: ToolName, args: object): Promise<void> {
    const { response } = await this.#connection.begin({ tool, arguments: args });
    outputOf(await response);
  }
}
