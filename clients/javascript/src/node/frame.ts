// Messages and the bytes that carry them. No socket is needed here. Source: SPEC §2.3.
import { ProtocolError, UnsendableError, reasonOf } from "./errors.js";
import { parseJson, stringifyJson } from "./json.js";
import { MESSAGE_MAX_BYTES, REQUEST_MAX_BYTES } from "./limits.js";
import { decodeMsgpack, encodeMsgpack } from "./msgpack.js";
import type { Value } from "./value.js";

/** How messages become bytes. The first byte of a connection chooses, for both directions. */
export type Encoding = "json" | "msgpack";

const LINE_FEED = 0x0a;
const LENGTH_BYTES = 4;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The frame of a request.
 *
 * @throws {UnsendableError} when the document has more than 4 MiB.
 */
export function encodeFrame(encoding: Encoding, request: Value): Uint8Array {
  const document = encoding === "json" ? Buffer.from(stringifyJson(request)) : encodeMsgpack(request);
  if (document.length > REQUEST_MAX_BYTES) {
    throw new UnsendableError(`the request has ${document.length} bytes, which exceeds the ${REQUEST_MAX_BYTES} limit`);
  }
  if (encoding === "json") return Buffer.concat([document, Buffer.of(LINE_FEED)]);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(document.length);
  return Buffer.concat([length, document]);
}

/**
 * What the document of a frame says.
 *
 * @throws {ProtocolError} when it is none.
 */
export function decodeDocument(encoding: Encoding, document: Uint8Array): unknown {
  try {
    return encoding === "json" ? parseJson(utf8.decode(document)) : decodeMsgpack(document);
  } catch (cause) {
    throw new ProtocolError(`axlrd sent what is no message: ${reasonOf(cause)}`, { cause });
  }
}

/** Cuts what arrives into documents. What waits for its end is bounded by the largest message. */
export class FrameDecoder {
  readonly #encoding: Encoding;
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;

  constructor(encoding: Encoding, maxBytes: number = MESSAGE_MAX_BYTES) {
    this.#encoding = encoding;
    this.#maxBytes = maxBytes;
  }

  /** Whether a message has begun and not ended. */
  get isInside(): boolean {
    return this.#waitingBytes > 0;
  }

  /**
   * The documents that end in `chunk`, which is kept until they have ended.
   *
   * @throws {ProtocolError} when a message passes the bound.
   */
  push(chunk: Uint8Array): Generator<Uint8Array> {
    return this.#encoding === "json" ? this.#lines(chunk) : this.#lengths(chunk);
  }

  *#lines(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      this.#keep(chunk.subarray(start, end));
      const line = this.#take();
      start = end + 1;
      if (!isBlank(line)) yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  *#lengths(chunk: Uint8Array): Generator<Uint8Array> {
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    while (this.#waitingBytes >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + this.#announced();
      if (this.#waitingBytes < end) return;
      const bytes = this.#take();
      this.#keep(bytes.subarray(end));
      yield bytes.subarray(LENGTH_BYTES, end);
    }
  }

  /** The length that the waiting bytes begin with. */
  #announced(): number {
    let [first] = this.#chunks;
    if (first === undefined || first.length < LENGTH_BYTES) {
      first = this.#take();
      this.#chunks = [first];
      this.#waitingBytes = first.length;
    }
    const length = new DataView(first.buffer, first.byteOffset).getUint32(0);
    this.#judge(length);
    return length;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#judge(this.#waitingBytes + bytes.length);
    this.#chunks.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #take(): Uint8Array {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#waitingBytes = 0;
    return bytes;
  }

  #judge(bytes: number): void {
    if (bytes > this.#maxBytes) {
      throw new ProtocolError(`axlrd sent a message of more than ${this.#maxBytes} bytes`);
    }
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
