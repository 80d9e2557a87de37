// A daemon with its HTTP bridge, of the test's own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { BIN, until } from "./daemon.js";

export interface BridgeDaemonOptions {
  /** Origins of pages that may ask. */
  origins?: string[];
  /** More flags of `axlrd`. */
  flags?: string[];
}

/** The name of the token's file. */
const TOKEN = "token";

export class BridgeDaemon {
  readonly root: string;
  readonly socket: string;
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly tokenFile: string;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(folder: string, port: number, token: string, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
    this.root = join(folder, "root");
    this.socket = join(folder, "run", "axlr.sock");
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.token = token;
    this.tokenFile = join(folder, TOKEN);
  }

  /** Starts one on an empty directory and a free port. */
  static async start({ origins = [], flags = [] }: BridgeDaemonOptions = {}): Promise<BridgeDaemon> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "axlr-js-")));
    await mkdir(join(folder, "root"));
    await mkdir(join(folder, "run"), { mode: 0o700 });
    const port = await freePort();
    const tokenFile = join(folder, TOKEN);
    const args = [
      ...["--root", join(folder, "root"), "--socket", join(folder, "run", "axlr.sock")],
      ...["--http", `127.0.0.1:${port}`, "--http-token-file", tokenFile],
      ...origins.flatMap((origin) => ["--http-allow-origin", origin]),
      ...flags,
    ];
    const child = spawn(join(BIN, "axlrd"), args, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => {
      if (child.exitCode !== null) throw new Error(`axlrd ended: ${said}`);
      return isUp(port);
    });
    const token = (await readFile(tokenFile, "utf8")).trim();
    return new BridgeDaemon(folder, port, token, child);
  }

  /** Ends it and removes its folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

async function isUp(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}
