// Run a command and hear of its output as it comes.
import { Emitter } from "./emitter.js";
import { IncompleteError, ProtocolError, StartError, CommandTimeoutError } from "./errors.js";
import type { CommandOptions } from "./exec.js";
import { Output } from "./output.js";
import { type BridgeOptions, post } from "./request.js";
import { type Line, lines } from "./stream.js";

interface ProcessEvents {
  /** The process ended: its exit code, 128+N for signal N, or null after {@link ChildProcess.kill}. */
  exit: [code: number | null];
  /** Something is wrong. `exit` follows only when the end of the process was told. */
  error: [error: unknown];
}

/** How the line on stderr begins that the bridge adds at the deadline. */
const TIMEOUT_MARK = "[timeout after";

/** A process that runs. */
export class ChildProcess extends Emitter<ProcessEvents> {
  readonly stdout = new Output();
  readonly stderr = new Output();
  /**
   * How it ended, as `exit` says.
   *
   * @throws what `error` says: {@link HttpError}, {@link UnreachableError}, {@link CommandTimeoutError}, {@link StartError},
   * {@link IncompleteError}, {@link ProtocolError}, or the reason of the caller's own signal.
   */
  readonly exited: Promise<number | null>;
  readonly #abort = new AbortController();
  #isKilled = false;
  /** How the last chunk on stderr begins. */
  #lastError = "";

  /** @internal See {@link Bridge.spawn}. */
  constructor(bridge: BridgeOptions, cmd: string, args: string[] | undefined, options: CommandOptions) {
    super();
    this.exited = this.#run(bridge, cmd, args, options);
    // Who listens to `error` knows already.
    this.exited.catch(() => {});
  }

  /** Kills the process and everything that it started. `exit` then says null, as nobody hears how it ended. */
  kill(): void {
    this.#isKilled = true;
    this.#stop(undefined);
  }

  /** Closes the connection, which is what kills, and lets go of loops that are full. */
  #stop(reason: unknown): void {
    this.#abort.abort(reason);
    this.#end(reason);
  }

  /** From the request to the end. Tells of either outcome once. */
  async #run(
    bridge: BridgeOptions,
    cmd: string,
    args: string[] | undefined,
    options: CommandOptions,
  ): Promise<number | null> {
    const { signal, cwd, env, timeout } = options;
    const abort = (): void => this.#stop(signal?.reason);
    // The caller has no listeners yet: nothing is told before its turn is over.
    await Promise.resolve();
    let code: number;
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", abort, { once: true });
      const response = await post(bridge, "/spawn", { cmd, args, cwd, env, timeout }, this.#abort.signal);
      if (response.body === null) throw new IncompleteError("the answer has no body");
      code = await this.#follow(response.body);
    } catch (error) {
      return this.#fail(error, signal);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    return this.#exit(code, timeout);
  }

  /** Hands the output on until the exit line. */
  async #follow(body: ReadableStream<Uint8Array>): Promise<number> {
    for await (const line of lines(body)) {
      this.#abort.signal.throwIfAborted();
      if (line.t === "exit") return line.code;
      await this.#hand(line);
    }
    throw new IncompleteError("the stream ended before the process did");
  }

  async #hand(line: Exclude<Line, { t: "exit" }>): Promise<void> {
    if (line.t === "out") return this.stdout.take(line.bytes);
    this.#lastError = new TextDecoder().decode(line.bytes.subarray(0, 2 * TIMEOUT_MARK.length)).trimStart();
    return this.stderr.take(line.bytes);
  }

  #exit(code: number, timeout: number | undefined): number {
    const error = this.#judge(code, timeout);
    this.#end(error);
    if (error) this.emit("error", error);
    this.emit("exit", code);
    if (error) throw error;
    return code;
  }

  /** What is wrong with an end that was told. */
  #judge(code: number, timeout: number | undefined): Error | undefined {
    if (code === -1) return new StartError("the process could not be started");
    if (code === 124 && this.#lastError.startsWith(TIMEOUT_MARK)) return new CommandTimeoutError(timeout);
    return undefined;
  }

  #fail(error: unknown, signal: AbortSignal | undefined): null {
    if (this.#isKilled) {
      this.#end();
      this.emit("exit", null);
      return null;
    }
    // However the broken connection was reported: the caller's own reason comes first.
    const reason: unknown = signal?.aborted ? signal.reason : error;
    this.#end(reason);
    this.emit("error", reason);
    throw reason;
  }

  #end(error?: unknown): void {
    this.stdout.end(error);
    this.stderr.end(error);
  }
}
