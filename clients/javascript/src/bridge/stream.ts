// The lines of a stream that /spawn answers with: newline-delimited JSON. Source: the bridge's HTTP protocol.
import { IncompleteError, ProtocolError } from "./errors.js";
import { LINE_MAX_CHARS } from "./limits.js";

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
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  let hasExited = false;
  try {
    for (;;) {
      const { done, value } = await next(reader);
      rest += decode(utf8, value);
      const texts = rest.split("\n");
      rest = texts.pop() ?? "";
      if (rest.length > LINE_MAX_CHARS) throw new ProtocolError(`a line has more than ${LINE_MAX_CHARS} characters`);
      for (const text of texts) {
        const line = readLine(text);
        if (line === undefined) continue;
        hasExited = line.t === "exit";
        yield line;
        if (hasExited) return;
      }
      if (done) throw new IncompleteError("the stream ended before the process did");
    }
  } finally {
    if (hasExited) void leave(reader);
    else await reader.cancel().catch(() => {});
  }
}

/** After the exit line only the end may come. Read to there, the connection can serve the next request. */
async function leave(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const { done } = await reader.read().catch(() => ({ done: true }));
  if (!done) await reader.cancel().catch(() => {});
}

async function next(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<{ done: boolean; value?: Uint8Array | undefined }> {
  try {
    return await reader.read();
  } catch (cause) {
    throw new IncompleteError("the connection broke before the process ended", { cause });
  }
}

function decode(utf8: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return utf8.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    throw new ProtocolError("the stream is not UTF-8", { cause });
  }
}

function readLine(text: string): Line | undefined {
  if (text.trim() === "") return undefined;
  let line: unknown;
  try {
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
  let binary: string;
  try {
    binary = atob(base64);
  } catch (cause) {
    throw new ProtocolError("a chunk of the stream is not base64", { cause });
  }
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
