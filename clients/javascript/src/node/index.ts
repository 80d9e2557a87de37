/**
 * The client of axlrd for Node: typed calls on the Unix socket, streams, cancellation.
 *
 * @module
 */
export { Client, type CallOptions, type ClientOptions } from "./client.js";
export {
  AxlrError,
  ConnectError,
  ConnectionLostError,
  ProtocolError,
  RefusedError,
  UnsendableError,
  UntrustedSocketError,
} from "./errors.js";
export type { Encoding } from "./frame.js";
export type * from "./generated.js";
export type { AnyEvent, Arguments, Output, Response, StreamingTool, ToolName } from "./message.js";
export type { Running } from "./running.js";
export { defaultSocketPath } from "./socket.js";
export type { Workspace } from "./workspace.js";
