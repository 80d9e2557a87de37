// Run a command to its end.
import { ProtocolError, CommandTimeoutError } from "./errors.js";
import { CLOCK_GRAIN_MS, EXEC_TIMEOUT_DEFAULT_S } from "./limits.js";
import { type BridgeOptions, json, post } from "./request.js";

/** How a command runs. */
export interface CommandOptions {
  /** Working directory; relative to the bridge's default folder. */
  cwd?: string | undefined;
  /** Variables added to its environment. */
  env?: Record<string, string> | undefined;
  /** Deadline in seconds, fractions allowed. `exec`: default 30, at most 120. `spawn`: default 300, at most 3600. */
  timeout?: number | undefined;
  /** Kills the command, with everything that it started. */
  signal?: AbortSignal | undefined;
}

/** How a command ended. */
export interface ExecResult {
  /** The exit code; 128+N when signal N killed it; -1 when it could not be started. */
  errno: number;
  /** At most 1 MB; the rest is dropped. */
  stdout: string;
  /** Likewise. */
  stderr: string;
}

/** {@link Bridge.exec} */
export async function exec(bridge: BridgeOptions, cmd: string, options: CommandOptions = {}): Promise<ExecResult> {
  const { signal, cwd, env, timeout } = options;
  const start = performance.now();
  const response = await post(bridge, "/exec", { cmd, cwd, env, timeout }, signal);
  const result = readResult(await json(response, signal));
  const deadline = timeout ?? EXEC_TIMEOUT_DEFAULT_S;
  if (result.errno === 124 && performance.now() - start >= deadline * 1000 - CLOCK_GRAIN_MS) {
    // A command may exit with 124 itself, but then it does so before the deadline.
    throw new CommandTimeoutError(deadline, result.stdout, result.stderr);
  }
  return result;
}

function readResult(body: unknown): ExecResult {
  const { errno, stdout, stderr } = (body ?? {}) as Partial<Record<keyof ExecResult, unknown>>;
  if (!Number.isInteger(errno) || typeof stdout !== "string" || typeof stderr !== "string") {
    throw new ProtocolError("the answer is not of the form {errno, stdout, stderr}");
  }
  return { errno: errno as number, stdout, stderr };
}
