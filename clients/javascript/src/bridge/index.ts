/**
 * Run commands from a page, or from anywhere that has `fetch`, through the HTTP bridge of axlrd.
 *
 * `exec` and `spawn` have the shapes that pages of the `kernelsu` package know. Tell them once where the bridge is:
 *
 * ```js
 * import { configure, exec, spawn } from "axlr/bridge";
 *
 * configure({ token });
 * const { errno, stdout } = await exec("uname -a");
 * const ls = spawn("ls", ["-l"]);
 * ls.stdout.on("data", (text) => console.log(text));
 * ls.on("exit", (code) => console.log(code));
 * ```
 *
 * @module
 */
import { type CommandOptions, type ExecResult, exec as run } from "./exec.js";
import { type BridgeOptions, json, request } from "./request.js";
import { ChildProcess } from "./spawn.js";

export {
  BridgeError,
  ForbiddenError,
  HttpError,
  IncompleteError,
  ProtocolError,
  StartError,
  CommandTimeoutError,
  UnauthorizedError,
  UnavailableError,
  UnreachableError,
} from "./errors.js";
export type { CommandOptions, ExecResult } from "./exec.js";
export type { Output } from "./output.js";
export type { BridgeOptions } from "./request.js";
export type { ChildProcess } from "./spawn.js";

/** A bridge. It holds no connection, so there is nothing to close. */
export class Bridge {
  readonly #options: BridgeOptions;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /**
   * Runs a command with `sh -c` and returns when it has ended. A command that fails is no error: see `errno`.
   *
   * @throws {CommandTimeoutError} when it was killed at its deadline; it holds the output so far.
   * @throws {HttpError} when the bridge refuses: {@link UnauthorizedError}, {@link ForbiddenError},
   * {@link UnavailableError}, or HttpError itself for what is wrong with the command.
   * @throws {UnreachableError} when there is no answer; {@link IncompleteError} when it is cut.
   * @throws the reason of `options.signal` when that is aborted. The command is killed then.
   */
  exec(cmd: string, options?: CommandOptions): Promise<ExecResult> {
    return run(this.#options, cmd, options);
  }

  /**
   * Runs a command and tells of its output as it comes. With `args` it is started without a shell, else by `sh -c`.
   * It never throws: what goes wrong is the event `error`, and what {@link ChildProcess.exited} throws.
   */
  spawn(cmd: string, options?: CommandOptions): ChildProcess;
  spawn(cmd: string, args: readonly string[] | undefined, options?: CommandOptions): ChildProcess;
  spawn(cmd: string, args?: readonly string[] | CommandOptions, options?: CommandOptions): ChildProcess {
    return isList(args)
      ? new ChildProcess(this.#options, cmd, [...args], options ?? {})
      : new ChildProcess(this.#options, cmd, undefined, options ?? args ?? {});
  }

  /** Whether the bridge is up. Needs no token. Throws as {@link exec} when it is not. */
  async health(signal?: AbortSignal): Promise<boolean> {
    const response = await request(this.#options, "/health", { signal: signal ?? null });
    const body = (await json(response, signal)) as { ok?: unknown } | null;
    return body?.ok === true;
  }
}

let configured: Bridge | undefined;

/** Says where {@link exec} and {@link spawn} find the bridge. */
export function configure(options: BridgeOptions): void {
  configured = new Bridge(options);
}

/** {@link Bridge.exec} on the configured bridge. */
export async function exec(cmd: string, options?: CommandOptions): Promise<ExecResult> {
  return theBridge().exec(cmd, options);
}

/**
 * {@link Bridge.spawn} on the configured bridge.
 *
 * @throws {TypeError} when none is.
 */
export function spawn(cmd: string, options?: CommandOptions): ChildProcess;
export function spawn(cmd: string, args: readonly string[] | undefined, options?: CommandOptions): ChildProcess;
export function spawn(cmd: string, args?: readonly string[] | CommandOptions, options?: CommandOptions): ChildProcess {
  return isList(args) ? theBridge().spawn(cmd, args, options) : theBridge().spawn(cmd, options ?? args);
}

function theBridge(): Bridge {
  if (configured) return configured;
  throw new TypeError("no bridge is configured: call configure({ token }) first");
}

function isList(args: readonly string[] | CommandOptions | undefined): args is readonly string[] {
  return Array.isArray(args);
}
