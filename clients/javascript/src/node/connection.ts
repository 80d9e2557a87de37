// One connection: what is in flight on it, and who reads it.
import type { Duplex } from "node:stream";

import { type Deferred, abortable, deferred } from "./deferred.js";
import { ConnectionLostError, ProtocolError, reasonOf } from "./errors.js";
import type { EventLine } from "./events.js";
import { type Encoding, FrameDecoder, encodeFrame } from "./frame.js";
import { OUTGOING_MAX_BYTES, PROTOCOL_VERSION } from "./limits.js";
import { type AnyEvent, type Response, type ToolName, readMessage } from "./message.js";
import { type Value, sendable } from "./value.js";

/** A request as a caller sees it before it has an id. */
export interface Call {
  tool: ToolName;
  arguments: unknown;
  /** The id of a workspace. */
  workspace?: string | undefined;
  /** Where its events go; without it none are asked for. */
  events?: EventLine | undefined;
}

/** A request that was sent. */
export interface InFlight {
  requestId: string;
  /** @throws {ConnectionLostError} when the connection ends first. */
  response: Promise<Response>;
}

interface Waiting {
  resolve(response: Response): void;
  reject(error: Error): void;
  events: EventLine | undefined;
}

/**
 * Requests and answers over a pair of streams.
 *
 * Any number of requests may be in flight; each answer finds its request by the id that it was given here. When the
 * connection ends, every one of them fails: nothing is sent twice by itself.
 */
export class Connection {
  readonly #stream: Duplex;
  readonly #encoding: Encoding;
  readonly #decoder: FrameDecoder;
  readonly #flights = new Map<string, Waiting>();
  /** Lines that are full. While there is one, the stream is not read. */
  readonly #full = new Set<EventLine>();
  readonly #onEnd: (reason: Error) => void;
  #nextId = 1;
  #ended: Error | undefined;
  #room: Deferred<void> | undefined;

  /** Begins to read. `onEnd` is told once why the connection is over. */
  constructor(stream: Duplex, encoding: Encoding, onEnd: (reason: Error) => void) {
    this.#stream = stream;
    this.#encoding = encoding;
    this.#decoder = new FrameDecoder(encoding);
    this.#onEnd = onEnd;
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
    stream.on("drain", () => this.#makeRoom());
    stream.on("error", (error) => this.end(error));
    stream.on("end", () => this.#endOfInput());
    stream.on("close", () => this.end(new Error("it was closed")));
  }

  /** Whether it is over. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Sends a request once there is room for it.
   *
   * @throws {UnsendableError} when it can't be sent.
   * @throws {ConnectionLostError} with effects "none" when the connection is over.
   * @throws the signal's reason when it is aborted before there was room.
   */
  async begin(call: Call, signal?: AbortSignal): Promise<InFlight> {
    while (this.#ended === undefined && this.#stream.writableLength >= OUTGOING_MAX_BYTES) {
      this.#room ??= deferred();
      await abortable(this.#room.promise, signal);
    }
    signal?.throwIfAborted();
    return this.#send(call);
  }

  /** Asks for the end of a request without waiting for room or an answer, which would be nobody's. */
  cancel(requestId: string): void {
    if (!this.#flights.has(requestId)) return;
    const { response } = this.#send({ tool: "request.cancel", arguments: { request_id: requestId } });
    response.catch(() => {});
  }

  /** To be called when a line of events may have room again. */
  readonly resume = (line: EventLine): void => {
    if (!line.isFull && this.#full.delete(line) && this.#full.size === 0) this.#stream.resume();
  };

  /** Ends the connection. The first reason stays. */
  end(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#stream.destroy();
    this.#makeRoom();
    const flights = [...this.#flights.values()];
    this.#flights.clear();
    for (const flight of flights) {
      flight.reject(new ConnectionLostError(reason.message, "unknown", { cause: reason }));
      flight.events?.end();
    }
    this.#onEnd(reason);
  }

  #send(call: Call): InFlight {
    if (this.#ended !== undefined) throw new ConnectionLostError(this.#ended.message, "none", { cause: this.#ended });
    const requestId = String(this.#nextId++);
    const frame = encodeFrame(this.#encoding, document(requestId, call));
    const { promise, resolve, reject } = deferred<Response>();
    this.#flights.set(requestId, { resolve, reject, events: call.events });
    this.#stream.write(frame);
    return { requestId, response: promise };
  }

  #read(chunk: Buffer): void {
    try {
      for (const frame of this.#decoder.push(chunk)) {
        // A callback of an earlier frame may have ended the connection.
        if (this.#ended !== undefined) return;
        this.#dispatch(frame);
      }
    } catch (error) {
      this.end(error instanceof Error ? error : new ProtocolError(reasonOf(error)));
    }
  }

  #dispatch(frame: Uint8Array): void {
    const message = readMessage(this.#encoding, frame);
    if ("response" in message) this.#respond(message.response);
    else if ("event" in message) this.#deliver(message.event);
  }

  #respond(response: Response): void {
    if (response.request_id === "") {
      throw new ProtocolError(`axlrd could not read a request: ${response.error?.message ?? "no reason"}`);
    }
    const flight = this.#flights.get(response.request_id);
    this.#flights.delete(response.request_id);
    flight?.events?.end();
    flight?.resolve(response);
  }

  #deliver(event: AnyEvent): void {
    const line = this.#flights.get(event.request_id)?.events;
    if (line === undefined) return;
    line.push(event);
    if (line.isFull) {
      this.#full.add(line);
      this.#stream.pause();
    }
  }

  #endOfInput(): void {
    const where = this.#decoder.isInside ? " in the middle of a message" : "";
    this.end(new Error(`axlrd ended it${where}`));
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

function document(requestId: string, call: Call): Value {
  return sendable({
    protocol_version: PROTOCOL_VERSION,
    request_id: requestId,
    tool: call.tool,
    arguments: call.arguments,
    workspace: call.workspace,
    stream: call.events ? true : undefined,
  });
}
