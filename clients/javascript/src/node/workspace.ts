// A directory that the daemon works in.
import type { CallOptions, Client } from "./client.js";
import type { Connection } from "./connection.js";
import { abortable } from "./deferred.js";
import { UnsendableError } from "./errors.js";
import type {
  EditArguments,
  EditOutput,
  ExecArguments,
  ExecOutput,
  ListArguments,
  ListOutput,
  PluginsCallArguments,
  PluginsCallOutput,
  PluginsListOutput,
  ReadArguments,
  ReadOutput,
  SearchArguments,
  SearchOutput,
  WorkspaceOpenArguments,
  WorkspaceOpenOutput,
  WriteArguments,
  WriteOutput,
} from "./generated.js";
import { type Arguments, type Response, type StreamingTool, outputOf } from "./message.js";
import type { Running } from "./running.js";

type Options = Omit<CallOptions, "workspace">;

/**
 * The tools in one workspace. They throw as {@link Client.call} says; the codes are those of SPEC §3.
 *
 * It outlives the connection: on a new one it is opened anew, with the same settings, before it is used.
 */
export class Workspace {
  readonly #client: Client;
  readonly #settings: WorkspaceOpenArguments;
  readonly #opened = new WeakMap<Connection, Promise<WorkspaceOpenOutput>>();
  #last: WorkspaceOpenOutput | undefined;
  #isClosed = false;

  /** @internal See {@link Client.open}. */
  constructor(client: Client, settings: WorkspaceOpenArguments) {
    this.#client = client;
    this.#settings = settings;
  }

  /** Its id on the last connection that it was opened on. */
  get id(): string {
    return this.#last?.workspace ?? "";
  }

  /** Its directory, without symlinks. */
  get root(): string {
    return this.#last?.root ?? this.#settings.root;
  }

  /** Reads a page of a file. */
  read(args: ReadArguments, options?: Options): Promise<ReadOutput> {
    return this.#client.call("read", args, { ...options, workspace: this });
  }

  /** Creates or replaces a file, all at once. */
  write(args: WriteArguments, options?: Options): Promise<WriteOutput> {
    return this.#client.call("write", args, { ...options, workspace: this });
  }

  /** Replaces one literal occurrence in a file. */
  edit(args: EditArguments, options?: Options): Promise<EditOutput> {
    return this.#client.call("edit", args, { ...options, workspace: this });
  }

  /** Runs a program to its end. With {@link stream} its output comes while it runs. */
  exec(args: ExecArguments, options?: Options): Promise<ExecOutput> {
    return this.#client.call("exec", args, { ...options, workspace: this });
  }

  /** Searches lines of files. */
  search(args: SearchArguments, options?: Options): Promise<SearchOutput> {
    return this.#client.call("search", args, { ...options, workspace: this });
  }

  /** Lists a directory. */
  list(args: ListArguments = {}, options?: Options): Promise<ListOutput> {
    return this.#client.call("list", args, { ...options, workspace: this });
  }

  /** Lists the tools of the workspace's plugins. */
  async pluginsList(options?: Options): Promise<PluginsListOutput["tools"]> {
    return (await this.#client.call("plugins.list", {}, { ...options, workspace: this })).tools;
  }

  /** Calls a plugin's tool. */
  pluginsCall(args: PluginsCallArguments, options?: Options): Promise<PluginsCallOutput> {
    return this.#client.call("plugins.call", args, { ...options, workspace: this });
  }

  /** Starts a request that tells what happens while it runs. */
  stream<T extends StreamingTool>(tool: T, args: Arguments<T>, options?: Options): Promise<Running<T>> {
    return this.#client.stream(tool, args, { ...options, workspace: this });
  }

  /** Gives this open of the directory back. The last one ends what runs in the workspace. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const connection = this.#client.release(this);
    const opened = connection && (await this.#opened.get(connection)?.catch(() => undefined));
    // What ended with its connection needs no closing.
    if (!opened || connection.hasEnded) return;
    const args = { workspace: opened.workspace };
    const { response } = await connection.begin({ tool: "workspace.close", arguments: args });
    outputOf(await response);
  }

  /** @internal Its id on that connection, where it is opened when it is not yet. */
  async idOn(connection: Connection, signal: AbortSignal | undefined): Promise<string> {
    if (this.#isClosed) throw new UnsendableError(`the workspace ${this.root} is closed`);
    let opening = this.#opened.get(connection);
    if (opening === undefined) {
      opening = this.#open(connection);
      this.#opened.set(connection, opening);
      // The next call tries again: the directory may be back by then.
      opening.catch(() => this.#opened.delete(connection));
    }
    return (await abortable(opening, signal)).workspace;
  }

  async #open(connection: Connection): Promise<WorkspaceOpenOutput> {
    const { response } = await connection.begin({ tool: "workspace.open", arguments: this.#settings });
    this.#last = outputOf((await response) as Response<"workspace.open">);
    return this.#last;
  }
}
