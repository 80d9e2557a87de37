// What can go wrong between a page and the bridge.

/** Every error of the bridge is one of these, but for a signal's own reason. */
export abstract class BridgeError extends Error {
  /** The name of its class, also where a bundler has renamed that. */
  abstract override readonly name: string;
}

/** No answer: nobody listens there, or the browser kept the answer from a page whose origin is not allowed. */
export class UnreachableError extends BridgeError {
  override readonly name = "UnreachableError";
}

/** The bridge refused the request. Nothing was run. */
export class HttpError extends BridgeError {
  override readonly name: string = "HttpError";

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The bridge's own words, from the body `{"error":"…"}`. */
    readonly reason: string,
  ) {
    super(`the bridge refused the request: ${reason} (${status})`);
  }
}

/** 401: the token is missing or wrong. */
export class UnauthorizedError extends HttpError {
  override readonly name: string = "UnauthorizedError";
}

/** 403: the origin is not in the allowlist, or the Host header is not the bridge's. */
export class ForbiddenError extends HttpError {
  override readonly name: string = "ForbiddenError";
}

/** 503: `reason` is "overloaded" or "shutting_down". The request may be repeated later. */
export class UnavailableError extends HttpError {
  override readonly name: string = "UnavailableError";
}

/** The command was killed at its deadline. (A signal of `AbortSignal.timeout` throws its own reason.) */
export class CommandTimeoutError extends BridgeError {
  override readonly name = "CommandTimeoutError";
  /** As `timeout` of coreutils reports it. */
  readonly errno = 124;

  constructor(
    /** The deadline in seconds, when the caller named it or `exec` applied its default. */
    readonly timeout: number | undefined,
    /** What was captured so far; of `spawn` it went to the listeners. */
    readonly stdout: string = "",
    /** Likewise. */
    readonly stderr: string = "",
  ) {
    super(timeout === undefined ? "the command timed out" : `the command timed out after ${timeout} s`);
  }
}

/** The process could not be started: its exit line has code -1. */
export class StartError extends BridgeError {
  override readonly name = "StartError";
}

/** The answer ended before it was whole. What became of the command is unknown; it is never a success. */
export class IncompleteError extends BridgeError {
  override readonly name = "IncompleteError";
}

/** The answer is none of the bridge's. */
export class ProtocolError extends BridgeError {
  override readonly name = "ProtocolError";
}

/** The error for an HTTP status that is not 200. */
export function httpError(status: number, reason: string): HttpError {
  switch (status) {
    case 401:
      return new UnauthorizedError(status, reason);
    case 403:
      return new ForbiddenError(status, reason);
    case 503:
      return new UnavailableError(status, reason);
    default:
      return new HttpError(status, reason);
  }
}
