// The lines of a stream that /spawn answers with: newline-delimited JSON. Source: the bridge's HTTP protocol.
import { IncompleteError, ProtocolError } from "./errors.js";
import { LINE_MAX_BYTES } from "./limits.js";

/** What runtimes of ES2026 have. */
type Native = typeof Uint8Array & { fromBase64?(base64: string): Uint8Array };

const LINE_FEED = 0x0a;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A line: a chunk of output, or how the process ended. */
export type Line = { t: "out" | "err"; bytes: Uint8Array } | { t: "exit"; code: number };

/**
 * The lines of a body, up to the exit line. Lines of a kind that this version does not know are passed over.
 *
 * @throws {IncompleteError} when the body ends before its exit line, or in the middle of one.
 * @throws {ProtocolError} when a line is none, or is too long.
 */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<Line, void, undefined> {
  const reader = body.getReader();
  const cutter = new LineCutter();
  let hasExited = false;
  try {
    for (;;) {
      const { done, value } = await next(reader);
      if (done) throw new IncompleteError("the stream ended before the process did");
      for (const bytes of cutter.push(value)) {
        const line = readLine(bytes);
        if (line === undefined) continue;
        hasExited = line.t === "exit";
        yield line;
        if (hasExited) return;
      }
    }
  } finally {
    if (hasExited) void leave(reader);
    else await reader.cancel().catch(() => {});
  }
}

/** Cuts what arrives at line ends. What waits for its end is bounded. */
class LineCutter {
  #parts: Uint8Array[] = [];
  #waitingBytes = 0;

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Uint8Array): void {
    this.#waitingBytes += part.length;
    if (this.#waitingBytes > LINE_MAX_BYTES) throw new ProtocolError(`a line has more than ${LINE_MAX_BYTES} bytes`);
    this.#parts.push(part);
  }

  #take(): Uint8Array {
    const line = new Uint8Array(this.#waitingBytes);
    let at = 0;
    for (const part of this.#parts) {
      line.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#waitingBytes = 0;
    return line;
  }
}

/** After the exit line only the end may come. Read to there, the connection can serve the next request. */
async function leave(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const { done } = await reader.read().catch(() => ({ done: true }));
  if (!done) await reader.cancel().catch(() => {});
}

async function next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new IncompleteError("the connection broke before the process ended", { cause });
  }
}

function readLine(bytes: Uint8Array): Line | undefined {
  let line: unknown;
  try {
    const text = utf8.decode(bytes).trim();
    if (text === "") return undefined;
    line = JSON.parse(text);
  } catch (cause) {
    throw new ProtocolError("a line of the stream is not JSON", { cause });
  }
  if (typeof line !== "object" || line === null) throw new ProtocolError("a line of the stream is no object");
  const { t, b, code } = line as Record<"t" | "b" | "code", unknown>;
  if (t === "exit") {
    if (Number.isInteger(code)) return { t, code: code as number };
    throw new ProtocolError("the exit line has no code");
  }
  if (t !== "out" && t !== "err") return undefined;
  if (typeof b !== "string") throw new ProtocolError("a chunk of the stream has no bytes");
  return { t, bytes: fromBase64(b) };
}

function fromBase64(base64: string): Uint8Array {
  try {
    return (Uint8Array as Native).fromBase64?.(base64) ?? fromBinary(atob(base64));
  } catch (cause) {
    throw new ProtocolError("a chunk of the stream is not base64", { cause });
  }
}

function fromBinary(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
