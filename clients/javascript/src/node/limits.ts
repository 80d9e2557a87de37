// The numbers of this client. Sizes are bytes unless the name says otherwise.

/** The protocol version that every message carries. Source: SPEC §1. */
export const PROTOCOL_VERSION = 1;
/** Largest request document. Source: SPEC §1.2. */
export const REQUEST_MAX_BYTES = 4 * 1024 * 1024;
/** Deepest nesting of a request; the request object is level 1. Source: SPEC §1.2. */
export const DEPTH_MAX = 128;
/** Largest message that is read. Responses have at most 4 MiB; a length in MessagePack can't say more. Source: SPEC §2.3. */
export const MESSAGE_MAX_BYTES = 2 ** 24 - 1;
/** Longest path of a Unix socket. Source: SPEC §2.2, unix(7). */
export const SOCKET_PATH_MAX_BYTES = 107;

/** Events of one request that wait to be taken before its connection is no longer read. */
export const EVENTS_WAITING = 32;
/** While so much waits to be written, no further call is sent: as much as the daemon lets wait on its side. */
export const OUTGOING_MAX_BYTES = 4 * 1024 * 1024;
/** Most bytes of stdin in one `exec.write`; as base64 they stay well below the largest request. */
export const STDIN_CHUNK_BYTES = 1024 * 1024;

/** How often a lost daemon is looked for before a call gives up: about five seconds with the delays below. */
export const RECONNECT_ATTEMPTS = 8;
/** The delay before the second attempt, in milliseconds. Each further one is twice as long. */
export const RECONNECT_FIRST_DELAY_MS = 50;
/** The longest delay between two attempts, in milliseconds. */
export const RECONNECT_MAX_DELAY_MS = 2_000;
