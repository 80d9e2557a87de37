// A daemon of the test's own: its folder, its socket, and its end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, mkdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** Where the binaries are: `AXLR_BIN`, else the debug build of this repository. Tests run in the package's folder. */
export const BIN = resolve(process.env["AXLR_BIN"] ?? "../../target/debug");

export interface DaemonOptions {
  /** More flags of `axlrd`. */
  flags?: string[];
}

export class Daemon {
  readonly folder: string;
  readonly root: string;
  readonly socket: string;
  readonly #flags: string[];
  #child: ChildProcess | undefined;

  private constructor(folder: string, flags: string[]) {
    this.folder = folder;
    this.root = join(folder, "root");
    this.socket = join(folder, "run", "axlr.sock");
    this.#flags = flags;
  }

  /** Starts one on an empty directory. */
  static async start({ flags = [] }: DaemonOptions = {}): Promise<Daemon> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "axlr-js-")));
    const daemon = new Daemon(folder, flags);
    await mkdir(daemon.root);
    await mkdir(join(folder, "run"), { mode: 0o700 });
    await daemon.restart();
    return daemon;
  }

  /** Ends it by SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  /** Starts it again, on the same socket. */
  async restart(): Promise<void> {
    const args = ["--root", this.root, "--socket", this.socket, "--env-pass", "PATH", ...this.#flags];
    const child = spawn(join(BIN, "axlrd"), args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    const lines = createInterface({ input: child.stderr });
    const said: string[] = [];
    await new Promise<void>((ready, failed) => {
      lines.on("line", (line) => {
        said.push(line);
        if (line.includes(`listening on ${this.socket}`)) ready();
      });
      child.once("error", failed);
      child.once("exit", () => failed(new Error(`axlrd ended: ${said.join("\n")}`)));
    });
  }

  /** Ends it and removes its folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Waits until `question` is answered with yes; the test's own timeout ends a wait in vain. */
export async function until(question: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await question())) await new Promise((resume) => setTimeout(resume, 5));
}

/** Whether a process is alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
