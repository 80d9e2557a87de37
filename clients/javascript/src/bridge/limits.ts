// The numbers of the bridge's client.

/** Where the bridge listens unless told otherwise. */
export const DEFAULT_URL = "http://127.0.0.1:8787";
/** The deadline of `exec` when none is given, in seconds. Source: the bridge's HTTP protocol. */
export const EXEC_TIMEOUT_DEFAULT_S = 30;
/** How coarse a browser's clock may be, in milliseconds. */
export const CLOCK_GRAIN_MS = 2;
/** Longest line of a stream that is kept, in bytes. A chunk has at most 64 KiB, which is 87 384 in base64. */
export const LINE_MAX_BYTES = 1024 * 1024;
/** Chunks of one output that wait for an async iterator before the stream is no longer read. */
export const CHUNKS_WAITING = 16;
/** How much of an error's body is shown, in characters. */
export const REASON_MAX_CHARS = 300;
