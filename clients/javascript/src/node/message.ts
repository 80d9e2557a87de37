// What comes from the daemon: responses and events. Source: SPEC §1.3, §6.
import { ProtocolError, RefusedError } from "./errors.js";
import { type Encoding, decodeDocument } from "./frame.js";
import type { Code, Events, Status, Tools } from "./generated.js";

/** The name of a tool. */
export type ToolName = keyof Tools;
/** The name of a tool that sends events. */
export type StreamingTool = keyof Events;
/** The arguments of a tool. */
export type Arguments<T extends ToolName> = Tools[T]["arguments"];
/** The output of a tool. */
export type Output<T extends ToolName> = Tools[T]["output"];

/** An answer. Exactly one of `output` and `error` is not null. */
export interface Response<T extends ToolName = ToolName> {
  protocol_version: number;
  request_id: string;
  tool: T | "";
  status: Status;
  /** RFC 3339, UTC. */
  started_at: string;
  /** RFC 3339, UTC. */
  finished_at: string;
  /** Milliseconds between them on a monotonic clock. */
  duration_ms: number;
  output: Output<T> | null;
  error: { code: Code; message: string } | null;
}

/** Any event. */
export type AnyEvent = Events[StreamingTool];

/** What a frame from the daemon holds. */
export type Message = { response: Response } | { event: AnyEvent } | { unknown: string };

type Members = Record<string, unknown>;

const KNOWN_EVENTS = new Set(["started", "stdout", "stderr", "matches", "entries", "progress"]);

/**
 * Reads the document of a frame. Members and events that this version does not know are passed over.
 *
 * @throws {ProtocolError} when it is neither a response nor an event.
 * Source: SPEC §9.
 */
export function readMessage(encoding: Encoding, document: Uint8Array): Message {
  const message = decodeDocument(encoding, document);
  if (!isMembers(message) || typeof message["request_id"] !== "string") {
    throw new ProtocolError("axlrd sent what is no message: it has no request_id");
  }
  if (typeof message["event"] === "string") return readEvent(message, message["event"]);
  return { response: readResponse(message) };
}

/**
 * The output of a completed answer.
 *
 * @throws the signal's reason when the request was cancelled for it, else {@link RefusedError}.
 */
export function outputOf<T extends ToolName>(response: Response<T>, signal?: AbortSignal): Output<T> {
  if (response.output !== null) return response.output;
  if (response.status === "cancelled") signal?.throwIfAborted();
  throw new RefusedError(response as Response);
}

function readEvent(message: Members, event: string): Message {
  if (!KNOWN_EVENTS.has(event)) return { unknown: event };
  if (event === "stdout" || event === "stderr") {
    message["data"] = readData(message["data"]);
  }
  return { event: message as unknown as AnyEvent };
}

/** Bytes are base64 text in JSON and bin in MessagePack. Source: SPEC §2.3. */
function readData(data: unknown): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (typeof data === "string") return Buffer.from(data, "base64");
  throw new ProtocolError("axlrd sent an event without data");
}

function readResponse(message: Members): Response {
  const { status, output, error } = message;
  const isWhole = typeof status === "string" && (isMembers(output) ? error === null : output === null);
  const isExplained = error === null || (isMembers(error) && typeof error["code"] === "string");
  if (!isWhole || !isExplained || output === error) {
    throw new ProtocolError("axlrd sent what is no message: it is neither a response nor an event");
  }
  return message as unknown as Response;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
