// Where the socket is, and whether it may be trusted. Source: SPEC §2.2, unix(7).
import { realpath, stat } from "node:fs/promises";
import { type Socket, connect } from "node:net";
import { dirname, isAbsolute, join } from "node:path";

import { ConnectError, UntrustedSocketError, reasonOf } from "./errors.js";
import { SOCKET_PATH_MAX_BYTES } from "./limits.js";

/** Write permission of the group and of others. */
const WRITABLE_BY_OTHERS = 0o022;

/** `$AXLR_SOCKET`, else `$XDG_RUNTIME_DIR/axlr/axlr.sock`, else `/tmp/axlr-UID/axlr.sock`. */
export function defaultSocketPath(env: NodeJS.ProcessEnv = process.env): string {
  const named = env["AXLR_SOCKET"];
  if (named) return named;
  const runtime = env["XDG_RUNTIME_DIR"];
  if (runtime && isAbsolute(runtime)) return join(runtime, "axlr/axlr.sock");
  return `/tmp/axlr-${ownUid()}/axlr.sock`;
}

/**
 * Connects to the daemon's socket.
 *
 * Node can't ask the kernel who listens (SO_PEERCRED). So the socket and its folder must belong to this user and be
 * writable by nobody else: then nobody else can have put it there.
 *
 * @throws {ConnectError} when nobody listens there, or the path is too long for a socket.
 * @throws {UntrustedSocketError} when it may be somebody else's. Nothing was sent.
 */
export async function connectSocket(path: string): Promise<Socket> {
  try {
    const bytes = Buffer.byteLength(path);
    if (bytes > SOCKET_PATH_MAX_BYTES) {
      throw new Error(`the path has ${bytes} bytes, and a socket's has at most ${SOCKET_PATH_MAX_BYTES}`);
    }
    const real = await realpath(path);
    await judge(path, real, ownUid());
    return await open(real);
  } catch (error) {
    if (error instanceof UntrustedSocketError) throw error;
    throw new ConnectError(path, explain(error));
  }
}

/** Whether a socket, by its real path, is this user's alone. */
export async function judge(path: string, real: string, own: number): Promise<void> {
  for (const place of [dirname(real), real]) {
    const { uid, mode } = await stat(place);
    if (uid !== own) {
      throw new UntrustedSocketError(path, `${place} belongs to user ${uid}, and you are user ${own}`);
    }
    if ((mode & WRITABLE_BY_OTHERS) !== 0) {
      throw new UntrustedSocketError(path, `${place} is writable by others`);
    }
  }
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

function explain(error: unknown): Error {
  const isAbsent =
    error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ECONNREFUSED");
  if (!isAbsent) return error instanceof Error ? error : new Error(reasonOf(error));
  return new Error("no axlrd listens there (start one, or set AXLR_SOCKET)", { cause: error });
}

function ownUid(): number {
  const uid = process.geteuid?.();
  if (uid === undefined) throw new Error("this platform has no users, so no socket can be trusted");
  return uid;
}
