// One request to the bridge, up to the head of its answer.
import { IncompleteError, ProtocolError, UnreachableError, httpError } from "./errors.js";
import { DEFAULT_URL, REASON_MAX_CHARS } from "./limits.js";

/** Where the bridge is and how to be admitted. */
export interface BridgeOptions {
  /** Where it listens. Default `http://127.0.0.1:8787`. */
  url?: string | URL;
  /** The token, or what gives it: asked once for each request. */
  token: string | (() => string | Promise<string>);
  /** What makes requests. Default the platform's own `fetch`. */
  fetch?: typeof fetch;
}

/** The members of a command that both calls have, as they stand in the body. */
export interface CommandBody {
  cmd: string;
  args?: string[] | undefined;
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeout?: number | undefined;
}

/**
 * Sends a request and returns its answer when that is a 200.
 *
 * @throws {HttpError} for any other status; {@link UnreachableError} when there is no answer; the signal's own reason
 * when it is aborted.
 */
export async function post(
  options: BridgeOptions,
  path: "/exec" | "/spawn",
  body: CommandBody,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const token = typeof options.token === "function" ? await options.token() : options.token;
  return request(options, path, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}

/** As {@link post}, for any request. */
export async function request(options: BridgeOptions, path: string, init: RequestInit): Promise<Response> {
  const url = new URL(path, options.url ?? DEFAULT_URL);
  const send = options.fetch ?? globalThis.fetch;
  let response: Response;
  try {
    // The token is all that is sent along: no cookies, no referrer, and no answer of the past.
    response = await send(url, { ...init, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (cause) {
    init.signal?.throwIfAborted();
    throw new UnreachableError(
      `no answer from ${url.origin}: it does not listen there, or the origin of this page is not allowed`,
      { cause },
    );
  }
  if (response.status === 200) return response;
  throw httpError(response.status, await reasonOf(response));
}

/**
 * The whole body of an answer as JSON.
 *
 * @throws {IncompleteError} when it is cut; {@link ProtocolError} when it is not JSON.
 */
export async function json(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new IncompleteError("the answer ended before it was whole", { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ProtocolError("the answer is not JSON", { cause });
  }
}

async function reasonOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  const reason = parseReason(text) ?? text.trim().slice(0, REASON_MAX_CHARS);
  return reason || response.statusText || "no reason given";
}

function parseReason(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const isError = typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
    return isError ? (body.error as string) : undefined;
  } catch {
    return undefined;
  }
}
