// The client: calls on a connection that is made anew when it was lost.
import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

import { Connection, type Call } from "./connection.js";
import { abortable, whenAborted } from "./deferred.js";
import { AxlrError, ConnectError, ConnectionLostError, UntrustedSocketError } from "./errors.js";
import { EventLine } from "./events.js";
import type { Encoding } from "./frame.js";
import type { ServerInfoOutput, ServerStatsOutput, WorkspaceListOutput, WorkspaceOpenArguments } from "./generated.js";
import { RECONNECT_ATTEMPTS, RECONNECT_FIRST_DELAY_MS, RECONNECT_MAX_DELAY_MS } from "./limits.js";
import { type Arguments, type Output, type Response, type StreamingTool, type ToolName, outputOf } from "./message.js";
import { Running } from "./running.js";
import { connectSocket, defaultSocketPath } from "./socket.js";
import { Workspace } from "./workspace.js";

/** Where the daemon is and how to speak to it. */
export interface ClientOptions {
  /** The socket. Default: see {@link defaultSocketPath}. */
  socket?: string;
  /** Default "msgpack", which carries bytes as they are. */
  encoding?: Encoding;
  /** Whether a lost connection is made anew for the next call. Default true. */
  reconnect?: boolean;
  /** Another way to a daemon than the socket: the pipes of `axlrd --stdio`, say, or of `ssh HOST axlrd --stdio`. */
  transport?: () => Duplex | Promise<Duplex>;
}

/** How one call is made. */
export interface CallOptions {
  /**
   * Cancels the request in the daemon. The call then waits for the answer: it throws the signal's reason when the request
   * was cancelled, and returns the output when the request won the race. What was not sent yet is not sent.
   */
  signal?: AbortSignal | undefined;
  /** Where: a {@link Workspace}, or an id. Default: what was opened with `default`, else the daemon's first root. */
  workspace?: Workspace | string | undefined;
}

interface ClientEvents {
  /** The connection is over, and why. Not emitted for {@link Client.close}. */
  disconnected: [reason: Error];
  /** It was made anew. */
  reconnected: [];
}

/**
 * A daemon, and a connection to it.
 *
 * Calls may run side by side. When the connection is lost, every call in flight fails with
 * {@link ConnectionLostError}, because nobody knows what became of it; the next call connects again, waiting longer
 * after each attempt, and workspaces are opened anew before they are used.
 */
export class Client extends EventEmitter<ClientEvents> {
  readonly #options: ClientOptions;
  readonly #path: string;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #default: Workspace | undefined;
  #isClosed = false;

  private constructor(options: ClientOptions) {
    super();
    this.#options = options;
    this.#path = options.transport ? "the transport" : (options.socket ?? defaultSocketPath());
  }

  /**
   * Connects once.
   *
   * @throws {ConnectError} when nobody listens there.
   * @throws {UntrustedSocketError} when the socket may be somebody else's; nothing was sent.
   */
  static async connect(options: ClientOptions = {}): Promise<Client> {
    const client = new Client(options);
    client.#connection = await client.#open();
    return client;
  }

  /** Whether there is a connection now. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /**
   * Calls a tool and returns its output.
   *
   * @throws {RefusedError} when the daemon answers with another status than `completed`.
   * @throws {ConnectionLostError} when no answer comes.
   * @throws {UnsendableError} when the request can't be sent.
   */
  async call<T extends ToolName>(tool: T, args: Arguments<T>, options: CallOptions = {}): Promise<Output<T>> {
    return outputOf(await this.request(tool, args, options), options.signal);
  }

  /** Calls a tool and returns the daemon's whole answer, whatever its status. Throws as {@link call}, but for that. */
  async request<T extends ToolName>(tool: T, args: Arguments<T>, options: CallOptions = {}): Promise<Response<T>> {
    const { response } = await this.#begin({ tool, arguments: args }, options);
    return response as Promise<Response<T>>;
  }

  /** Starts a request that tells what happens while it runs. Throws as {@link call} when it can't be sent. */
  async stream<T extends StreamingTool>(tool: T, args: Arguments<T>, options: CallOptions = {}): Promise<Running<T>> {
    const connection = await this.#connected(options.signal);
    const events = new EventLine(connection.resume);
    const call = { tool, arguments: args, events };
    const { requestId, response } = await this.#begin(call, options, connection);
    return new Running<T>(connection, requestId, events, response as Promise<Response<T>>, options.signal);
  }

  /** Asks whether the daemon answers; the connection itself does, also while every worker is busy. */
  async ping(options?: CallOptions): Promise<void> {
    await this.call("server.ping", {}, options);
  }

  /** What the daemon is and what it can do. */
  info(options?: CallOptions): Promise<ServerInfoOutput> {
    return this.call("server.info", {}, options);
  }

  /** What it does and did. */
  stats(options?: CallOptions): Promise<ServerStatsOutput> {
    return this.call("server.stats", {}, options);
  }

  /** Stops the daemon as SIGTERM does. Running requests may finish for `drain_ms` milliseconds. */
  async stop(args: Arguments<"server.stop"> = {}): Promise<void> {
    await this.call("server.stop", args);
  }

  /** Every open workspace of the daemon. */
  async workspaces(): Promise<WorkspaceListOutput["workspaces"]> {
    return (await this.call("workspace.list", {})).workspaces;
  }

  /**
   * Opens a directory, by its absolute path. With `default` it is where calls without a workspace go.
   *
   * @throws {RefusedError} `not_found` or `invalid_path` when it is no directory; `invalid_manifest` for a plugin.
   */
  async open(root: string | WorkspaceOpenArguments, options: CallOptions = {}): Promise<Workspace> {
    const settings = typeof root === "string" ? { root } : root;
    const workspace = new Workspace(this, settings);
    await workspace.idOn(await this.#connected(options.signal), options.signal);
    if (settings.default) this.#default = workspace;
    return workspace;
  }

  /** Ends the connection. What is in flight is cancelled by the daemon and fails here. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.end(new Error("this client closed it"));
  }

  /** {@link close} at the end of a block, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** @internal For {@link Workspace.close}: the connection if there is one, and what forgets the default. */
  release(workspace: Workspace): Connection | undefined {
    if (this.#default === workspace) this.#default = undefined;
    return this.#connection;
  }

  async #begin(
    call: Omit<Call, "workspace">,
    options: CallOptions,
    given?: Connection,
  ): Promise<{ requestId: string; response: Promise<Response> }> {
    const { signal } = options;
    const connection = given ?? (await this.#connected(signal));
    const workspace = await this.#workspaceId(call.tool, connection, options);
    // The room is waited for inside; nothing is sent for a signal that is aborted by then.
    const flight = await connection.begin({ ...call, workspace }, signal);
    if (signal === undefined) return flight;
    const forget = whenAborted(signal, () => connection.cancel(flight.requestId));
    flight.response.then(forget, forget);
    return flight;
  }

  #workspaceId(tool: ToolName, connection: Connection, options: CallOptions): Promise<string> | string | undefined {
    const { workspace = isOfTheDaemon(tool) ? undefined : this.#default } = options;
    return workspace instanceof Workspace ? workspace.idOn(connection, options.signal) : workspace;
  }

  async #connected(signal: AbortSignal | undefined): Promise<Connection> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new ConnectionLostError("this client closed it", "none");
    if (this.#connection) return this.#connection;
    if (this.#options.reconnect === false) throw new ConnectionLostError("it is not to be made anew", "none");
    this.#connecting ??= this.#reconnect().finally(() => {
      this.#connecting = undefined;
    });
    return abortable(this.#connecting, signal);
  }

  async #reconnect(): Promise<Connection> {
    const connection = await this.#openInTheEnd();
    this.#connection = connection;
    this.emit("reconnected");
    return connection;
  }

  async #openInTheEnd(): Promise<Connection> {
    let wait = RECONNECT_FIRST_DELAY_MS;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#open();
      } catch (error) {
        const isFinal = this.#isClosed || error instanceof UntrustedSocketError;
        if (isFinal || attempt === RECONNECT_ATTEMPTS) throw error;
      }
      // Half of it is by chance, so that the clients of one daemon don't come back in one moment.
      await delay(wait * (0.5 + Math.random() / 2));
      wait = Math.min(wait * 2, RECONNECT_MAX_DELAY_MS);
    }
  }

  async #open(): Promise<Connection> {
    const stream = await this.#dial();
    if (this.#isClosed) {
      stream.destroy();
      throw new ConnectionLostError("this client closed it", "none");
    }
    const connection = new Connection(stream, this.#options.encoding ?? "msgpack", (reason) => {
      if (this.#connection === connection) this.#connection = undefined;
      if (!this.#isClosed) this.emit("disconnected", reason);
    });
    return connection;
  }

  async #dial(): Promise<Duplex> {
    const { transport } = this.#options;
    if (!transport) return connectSocket(this.#path);
    try {
      return await transport();
    } catch (cause) {
      throw cause instanceof AxlrError ? cause : new ConnectError(this.#path, cause);
    }
  }
}

/** Whether a tool works in no workspace. Source: SPEC §7. */
function isOfTheDaemon(tool: ToolName): boolean {
  return /^(server|workspace|request)\./.test(tool) || tool === "exec.write" || tool === "exec.signal";
}
