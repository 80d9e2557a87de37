// Why there is no connection, and why there is no output.
import type { Code, Status } from "./generated.js";
import type { Response } from "./message.js";

/** Every error of this client is one of these. */
export abstract class AxlrError extends Error {
  /** The name of its class, also where a bundler has renamed that. */
  abstract override readonly name: string;
}

/** No connection was made: nobody listens there, or the operating system refused. Nothing was sent. */
export class ConnectError extends AxlrError {
  override readonly name = "ConnectError";
  constructor(
    /** The socket, or what the transport connects to. */
    readonly path: string,
    cause: unknown,
  ) {
    super(`${path}: ${reasonOf(cause)}`, { cause });
  }
}

/** The socket may be somebody else's. Nothing was sent. Source: SPEC §2.2. */
export class UntrustedSocketError extends AxlrError {
  override readonly name = "UntrustedSocketError";
  constructor(
    /** The socket. */
    readonly path: string,
    reason: string,
  ) {
    super(`${path}: ${reason}; nothing was sent`);
  }
}

/** The connection ended before the response came. */
export class ConnectionLostError extends AxlrError {
  override readonly name = "ConnectionLostError";
  constructor(
    /** How it ended. */
    readonly reason: string,
    /**
     * What is known about the effects of the request: "none" when it was never sent. A request that was sent may have
     * been carried out, in part or whole; look before you repeat one that changes something.
     */
    readonly effects: "unknown" | "none",
    options?: ErrorOptions,
  ) {
    const known = effects === "none" ? "the request was not sent" : "whether the request had effects is unknown";
    super(`the connection to axlrd is lost: ${reason}; ${known}`, options);
  }
}

/** The daemon answered, and not with `completed`. */
export class RefusedError extends AxlrError {
  override readonly name = "RefusedError";
  /** How the request ended. */
  readonly status: Status;
  /** The stable code. Source: SPEC §5. */
  readonly code: Code;

  constructor(
    /** The whole answer. */
    readonly response: Response,
  ) {
    const { code, message } = response.error ?? { code: "internal_error", message: "the answer has no error" };
    super(`${response.tool}: ${message} (${code})`);
    this.status = response.status;
    this.code = code;
  }
}

/** The request can't be sent: it is too large, too deep, or holds what the protocol can't carry. Nothing was sent. */
export class UnsendableError extends AxlrError {
  override readonly name = "UnsendableError";
}

/** The daemon sent what is no message of the protocol. The connection is over. */
export class ProtocolError extends AxlrError {
  override readonly name = "ProtocolError";
}

/** What a thrown value says. */
export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
