// Written by `npm run generate` from protocol/schema. Not to be edited.

/** An integer of 64 bits: a number while it is a safe integer, else a bigint. */
export type Int64 = number | bigint;

/** How a request ended. Source: SPEC §1.3. */
export type Status = "completed" | "rejected" | "failed" | "cancelled" | "timed_out";

/** A stable error code. A later daemon may know more. Source: SPEC §5. */
export type Code = "invalid_request" | "invalid_arguments" | "not_regular_file" | "invalid_offset" | "invalid_text" | "limit_too_small" | "conflict" | "file_too_large" | "not_searchable" | "invalid_path" | "unknown_plugin" | "unknown_plugin_tool" | "unknown_workspace" | "request_id_in_use" | "overloaded" | "not_running" | "shutting_down" | "invalid_manifest" | "not_found" | "permission_denied" | "filesystem_error" | "start_failed" | "plugin_unavailable" | "plugin_failed" | "response_too_large" | "internal_error" | "cancelled" | "timeout" | (string & {});

/** One entry. */
export interface Entry {
  /** Whether the name is not UTF-8 and is shown with U+FFFD. */
  name_lossy?: boolean;
  /** Relative to the workspace. */
  path: string;
  /** Size in bytes, of regular files only. */
  size?: Int64 | null;
  /** What it is. */
  type: "file" | "dir" | "symlink" | "other";
}

/** One matching line. */
export interface Match {
  /** Lines after it. */
  after?: string[];
  /** Lines before it. */
  before?: string[];
  /** The 1-based byte column of the first match of the line. */
  column: number;
  /** Its 1-based line. */
  line: number;
  /** The file, relative to the workspace. */
  path: string;
  /** The line, cut around the match when it is long. */
  text: string;
  /** Whether `text` was cut. */
  truncated?: boolean;
}

/** Arguments of `edit`. */
export interface EditArguments {
  /** SHA-256 that the file must have. */
  expected_sha256?: string | null;
  /** What stands there afterwards; may be empty. */
  new_text: string;
  /** The literal text to replace; it must occur exactly once. */
  old_text: string;
  /** The file, relative to the workspace. */
  path: string;
  /** Replaces every non-overlapping occurrence, left to right. Default false. */
  replace_all?: boolean | null;
}

/** Output of `edit`. */
export interface EditOutput {
  /** SHA-256 of the file now. */
  content_sha256: string;
  /** How many occurrences were replaced; only with `replace_all`. */
  replacements?: number | null;
  /** Size of the file now. */
  written_bytes: number;
}

/** Arguments of `exec`. */
export interface ExecArguments {
  /** Its arguments, literally. */
  args?: string[] | null;
  /** Its working directory, relative to the workspace. Default the workspace. */
  cwd?: string | null;
  /** Variables added to the configured environment for this child. */
  env?: Record<string, string> | null;
  /** Bound on captured stdout and stderr together: default 262144, at most 1048576; 0 means default. */
  max_output_bytes?: Int64 | null;
  /** The program: absolute, relative to `cwd` (with a slash), or looked up in the child's own PATH. No shell. */
  program: string;
  /** Text for its stdin. Default none. */
  stdin?: string | null;
  /** Keeps stdin open for `exec.write`; only on the socket, with `stream`. */
  stdin_open?: boolean | null;
  /** Deadline in milliseconds: default 30000, at most 300000 (86400000 when streamed); 0 means default. */
  timeout_ms?: Int64 | null;
}

/** Output of `exec`. */
export interface ExecOutput {
  /** Bytes kept, or sent when streamed. */
  captured_bytes: number;
  /** Bytes dropped. */
  discarded_bytes: number;
  /** The exit code; -1 when a signal killed it. */
  exit_code: number;
  /** The signal that killed it, without SIG; only then. */
  signal?: string | null;
  /** Captured stderr; empty when streamed. */
  stderr: string;
  /** Captured stdout; empty when streamed. */
  stdout: string;
  /** Whether bytes were dropped, or a left-over process held the output open. */
  truncated: boolean;
}

/** Arguments of `exec.signal`. */
export interface ExecSignalArguments {
  /** A running exec of this connection. */
  request_id: string;
  /** The signal, without SIG. */
  signal: "INT" | "TERM" | "HUP" | "QUIT" | "KILL" | "USR1" | "USR2" | "STOP" | "CONT";
}

/** An object without members. */
export type ExecSignalOutput = Record<string, never>;

/** Arguments of `exec.write`: `data` or `base64`, not both; neither is allowed only with `eof`. */
export interface ExecWriteArguments {
  /** Bytes to write, as base64. */
  base64?: string | null;
  /** Text to write. */
  data?: string | null;
  /** Whether stdin is closed afterwards. Default false. */
  eof?: boolean | null;
  /** A running exec of this connection that was started with `stdin_open`. */
  request_id: string;
}

/** An object without members. */
export type ExecWriteOutput = Record<string, never>;

/** Arguments of `list`. */
export interface ListArguments {
  /** Filter in the syntax of Go's path.Match, with an optional leading `**\/`. */
  glob?: string | null;
  /** Whether the workspace's ignore files are honoured. Default false. */
  ignore_files?: boolean | null;
  /** Bytes of entries in a page: default 65536, at most 1048576; 0 means default. */
  max_bytes?: Int64 | null;
  /** How deep, when recursive: default 3, at most 8; 0 means default. */
  max_depth?: Int64 | null;
  /** Entries in a page: default 200, at most 500; 0 means default. */
  max_entries?: Int64 | null;
  /** Entries to pass over. Default 0. */
  offset?: Int64 | null;
  /** What to list, relative to the workspace. Default the workspace. */
  path?: string | null;
  /** Whether directories are entered. Default false. */
  recursive?: boolean | null;
}

/** Output of `list`. */
export interface ListOutput {
  /** The page, in walk order; empty when it was streamed. */
  entries: Entry[];
  /** Entries that ignore files left out; only with `ignore_files`. */
  entries_ignored?: number | null;
  /** Whether the listing stopped at a limit. */
  limit_reached?: boolean;
  /** The offset of the next page, when more follow. */
  next_offset?: number | null;
  /** Whether more follow, or a limit was reached. */
  truncated: boolean;
}

/** Arguments of `plugins.call`. */
export interface PluginsCallArguments {
  /** The tool's own arguments: any names, numbers as JSON has them, integers between -2^63 and 2^64-1. */
  arguments: Record<string, unknown>;
  /** The plugin. */
  plugin_id: string;
  /** Deadline in milliseconds: default 30000, at most 300000; 0 means default. */
  timeout_ms?: Int64 | null;
  /** Its tool. */
  tool_name: string;
}

/** Output of `plugins.call`. */
export interface PluginsCallOutput {
  /** Content blocks, as the server sent them. */
  content: unknown[];
  /** Whether the tool reports an error of its own. */
  is_error: boolean;
  /** Structured content, when the server sent some. */
  structured_content?: unknown;
}

/** An object without members. */
export type PluginsListArguments = Record<string, never>;

/** Output of `plugins.list`. */
export interface PluginsListOutput {
  /** The advertised tools that the manifests allow, plugins in registration order. */
  tools: ({
    /** As the server describes it. */
    description?: string | null;
    /** JSON Schema of its arguments. */
    input_schema: unknown;
    /** JSON Schema of its structured content. */
    output_schema?: unknown;
    /** The plugin. */
    plugin_id: string;
    /** The tool's name. */
    tool_name: string;
  })[];
}

/** Arguments of `read`. */
export interface ReadArguments {
  /** How the content is answered. Default "utf-8". */
  encoding?: "utf-8" | "base64" | null;
  /** Largest page, in bytes: 1 to 1048576, default 65536; 0 means default. */
  max_bytes?: Int64 | null;
  /** Where to start, in bytes. Default 0. */
  offset_bytes?: Int64 | null;
  /** The file, relative to the workspace. */
  path: string;
}

/** Output of `read`. */
export interface ReadOutput {
  /** The page: text, or base64 when that was asked. */
  content: string;
  /** SHA-256 of the file, 64 lower-case hex digits; only when the page is the whole file. */
  content_sha256?: string | null;
  /** Where the next page starts. */
  next_offset_bytes: Int64;
  /** Bytes of the file in the page. */
  returned_bytes: number;
  /** Where the page starts in the file. */
  start_offset_bytes: Int64;
  /** Whether the file goes on. */
  truncated: boolean;
}

/** Arguments of `request.cancel`. */
export interface RequestCancelArguments {
  /** A request of this connection. */
  request_id: string;
}

/** Output of `request.cancel`. */
export interface RequestCancelOutput {
  /** Whether that request was still running or waiting. */
  cancelled: boolean;
}

/** Arguments of `search`. */
export interface SearchArguments {
  /** Lines around each match, 0 to 5. Default 0. */
  context_lines?: Int64 | null;
  /** Whether the output tells which files were skipped. Default false. */
  explain?: boolean | null;
  /** Filter in the syntax of Go's path.Match, with an optional leading `**\/`. */
  glob?: string | null;
  /** Whether case is ignored. Default false. */
  ignore_case?: boolean | null;
  /** Whether the workspace's ignore files are honoured. Default false. */
  ignore_files?: boolean | null;
  /** Whether the pattern is plain text. Default false. */
  literal?: boolean | null;
  /** Bytes of matches in a page: default 65536, at most 1048576; 0 means default. */
  max_bytes?: Int64 | null;
  /** Matches in a page: default 50, at most 200; 0 means default. */
  max_results?: Int64 | null;
  /** Matches to pass over. Default 0. */
  offset?: Int64 | null;
  /** File or directory to search, relative to the workspace. Default the workspace. */
  path?: string | null;
  /** Go RE2 syntax, matched against one line at a time; text when `literal`. 1 to 4096 bytes. */
  pattern: string;
}

/** Output of `search`. */
export interface SearchOutput {
  /** Entries that ignore files left out; only with `ignore_files`. */
  files_ignored?: number | null;
  /** Files read and matched. */
  files_scanned: number;
  /** Files passed over. */
  files_skipped: number;
  /** Whether the search stopped at a limit. */
  limit_reached?: boolean;
  /** The page, in walk order; empty when it was streamed. */
  matches: Match[];
  /** The offset of the next page, when more follow. */
  next_offset?: number | null;
  /** Which files were skipped; only with `explain`. */
  skipped?: {
    /** A NUL near the start. */
    binary: {
      /** How many. */
      count: number;
      /** Up to ten, in walk order. */
      paths: string[];
    };
    /** Not UTF-8. */
    not_utf8: {
      /** How many. */
      count: number;
      /** Up to ten, in walk order. */
      paths: string[];
    };
    /** Over 1 MiB. */
    too_large: {
      /** How many. */
      count: number;
      /** Up to ten, in walk order. */
      paths: string[];
    };
    /** A file or directory that could not be read, or whose name is not UTF-8. */
    unreadable: {
      /** How many. */
      count: number;
      /** Up to ten, in walk order. */
      paths: string[];
    };
  } | null;
  /** Whether more follow, or a limit was reached. */
  truncated: boolean;
}

/** An object without members. */
export type ServerInfoArguments = Record<string, never>;

/** Output of `server.info`. */
export interface ServerInfoOutput {
  /** Names of what it can do; clients ask for names, not versions. */
  capabilities: string[];
  /** Bounds and defaults by name. */
  limits: Record<string, number>;
  /** "axlrd". */
  name: string;
  /** Its process id. */
  pid: number;
  /** Protocol versions that it speaks. */
  protocol_versions: number[];
  /** Every tool. */
  tools: {
    /** JSON Schema of its arguments. */
    arguments_schema: unknown;
    /** What it does, in a sentence. */
    description: string;
    /** Its name. */
    name: string;
    /** JSON Schema of its output. */
    output_schema: unknown;
  }[];
  /** Milliseconds since it started. */
  uptime_ms: number;
  /** The daemon's version. */
  version: string;
}

/** An object without members. */
export type ServerPingArguments = Record<string, never>;

/** An object without members. */
export type ServerPingOutput = Record<string, never>;

/** An object without members. */
export type ServerStatsArguments = Record<string, never>;

/** Output of `server.stats`. */
export interface ServerStatsOutput {
  /** Bytes received. */
  bytes_in: number;
  /** Bytes sent. */
  bytes_out: number;
  /** Exec children alive. */
  children: number;
  /** Open connections. */
  connections: number;
  /** Execs that completed and left processes behind which still live. */
  detached: number;
  /** Requests that wait. */
  queued: number;
  /** Resident memory of the daemon. */
  resident_bytes: number;
  /** Requests that run. */
  running: number;
  /** Counters by tool. */
  tools: Record<string, {
    cancelled: number;
    completed: number;
    failed: number;
    in_flight: number;
    max_us: number;
    p50_us: number;
    p99_us: number;
    rejected: number;
    timed_out: number;
  }>;
  /** Milliseconds since the daemon started. */
  uptime_ms: number;
}

/** Arguments of `server.stop`. */
export interface ServerStopArguments {
  /** How long running requests may finish, in milliseconds. Default the daemon's `--drain`. */
  drain_ms?: Int64 | null;
}

/** An object without members. */
export type ServerStopOutput = Record<string, never>;

/** Arguments of `workspace.close`. */
export interface WorkspaceCloseArguments {
  /** The id from `workspace.open`. */
  workspace: string;
}

/** An object without members. */
export type WorkspaceCloseOutput = Record<string, never>;

/** An object without members. */
export type WorkspaceListArguments = Record<string, never>;

/** Output of `workspace.list`. */
export interface WorkspaceListOutput {
  /** Every open workspace. */
  workspaces: ({
    /** How often it is open. */
    handles: number;
    /** Requests that run in it. */
    in_flight: number;
    /** Its name, or null. */
    name: string | null;
    /** Its directory. */
    root: string;
    /** Its id. */
    workspace: string;
  })[];
}

/** Arguments of `workspace.open`. Maps and lists, when given, are complete; when absent the daemon's own hold. */
export interface WorkspaceOpenArguments {
  /** Whether this becomes the connection's default workspace. Default false. */
  default?: boolean | null;
  /** The complete environment of exec children. */
  env?: Record<string, string> | null;
  /** A name for people. */
  name?: string | null;
  /** Complete environment of each plugin, by its id. */
  plugin_env?: Record<string, Record<string, string>> | null;
  /** HTTP headers of each plugin, by its id. */
  plugin_headers?: Record<string, Record<string, string>> | null;
  /** Absolute paths of plugin manifests. */
  plugins?: string[] | null;
  /** Absolute path of the directory. */
  root: string;
}

/** Output of `workspace.open`. */
export interface WorkspaceOpenOutput {
  /** The directory, without symlinks. */
  root: string;
  /** The id to use in requests. */
  workspace: string;
}

/** Arguments of `write`. */
export interface WriteArguments {
  /** The whole new content, at most 1 MiB. */
  content: string;
  /** What `content` is. Default "utf-8". */
  encoding?: "utf-8" | "base64" | null;
  /** SHA-256 of the content that is replaced, 64 lower-case hex digits. */
  expected_sha256?: string | null;
  /** "create" or "replace". */
  mode: "create" | "replace";
  /** With "replace": needs no digest, and creates what is missing. Default false. */
  overwrite?: boolean | null;
  /** Whether missing directories are made. Default false. */
  parents?: boolean | null;
  /** The file, relative to the workspace. */
  path: string;
}

/** Output of `write`. */
export interface WriteOutput {
  /** SHA-256 of the file now. */
  content_sha256: string;
  /** Size of the file now. */
  written_bytes: number;
}

/** What every event has. Source: SPEC §6. */
export interface EventEnvelope {
  protocol_version: number;
  request_id: string;
  /** Counts from 0 within the request. */
  seq: number;
}

export interface StartedEvent extends EventEnvelope {
  event: "started";
  /** Process id of the child. */
  pid: number;
}

export interface StdoutEvent extends EventEnvelope {
  event: "stdout";
  /** Bytes as the pipe gave them; bin in MessagePack. */
  data: Uint8Array;
}

export interface StderrEvent extends EventEnvelope {
  event: "stderr";
  /** Bytes as the pipe gave them; bin in MessagePack. */
  data: Uint8Array;
}

export interface MatchesEvent extends EventEnvelope {
  event: "matches";
  matches: Match[];
}

export interface EntriesEvent extends EventEnvelope {
  event: "entries";
  entries: Entry[];
}

export interface SearchProgressEvent extends EventEnvelope {
  event: "progress";
  /** search: files scanned so far. */
  files_scanned: number;
  /** search: files skipped so far. */
  files_skipped: number;
}

export interface ListProgressEvent extends EventEnvelope {
  event: "progress";
  /** list: entries visited so far. */
  entries_seen: number;
}

export interface PluginProgressEvent extends EventEnvelope {
  event: "progress";
  message?: string;
  /** plugins.call: as the plugin reported it. */
  progress: number;
  total?: number;
}

/** The tools that send events, and which. */
export interface Events {
  "exec": StartedEvent | StdoutEvent | StderrEvent;
  "search": MatchesEvent | SearchProgressEvent;
  "list": EntriesEvent | ListProgressEvent;
  "plugins.call": PluginProgressEvent;
}

/** Every tool with the types of its arguments and its output. */
export interface Tools {
  "edit": { arguments: EditArguments; output: EditOutput };
  "exec": { arguments: ExecArguments; output: ExecOutput };
  "exec.signal": { arguments: ExecSignalArguments; output: ExecSignalOutput };
  "exec.write": { arguments: ExecWriteArguments; output: ExecWriteOutput };
  "list": { arguments: ListArguments; output: ListOutput };
  "plugins.call": { arguments: PluginsCallArguments; output: PluginsCallOutput };
  "plugins.list": { arguments: PluginsListArguments; output: PluginsListOutput };
  "read": { arguments: ReadArguments; output: ReadOutput };
  "request.cancel": { arguments: RequestCancelArguments; output: RequestCancelOutput };
  "search": { arguments: SearchArguments; output: SearchOutput };
  "server.info": { arguments: ServerInfoArguments; output: ServerInfoOutput };
  "server.ping": { arguments: ServerPingArguments; output: ServerPingOutput };
  "server.stats": { arguments: ServerStatsArguments; output: ServerStatsOutput };
  "server.stop": { arguments: ServerStopArguments; output: ServerStopOutput };
  "workspace.close": { arguments: WorkspaceCloseArguments; output: WorkspaceCloseOutput };
  "workspace.list": { arguments: WorkspaceListArguments; output: WorkspaceListOutput };
  "workspace.open": { arguments: WorkspaceOpenArguments; output: WorkspaceOpenOutput };
  "write": { arguments: WriteArguments; output: WriteOutput };
}
