import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtemp, rm, symlink } from "node:fs/promises";
import { type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import { Client, ConnectError, UntrustedSocketError, defaultSocketPath } from "axlr";
import { judge } from "#node/socket.js";

const own = process.geteuid?.() ?? -1;

test("the socket is looked for where the daemon puts it", () => {
  const fallback = `/tmp/axlr-${own}/axlr.sock`;
  const rows: [Record<string, string>, string][] = [
    [{ AXLR_SOCKET: "/a/b", XDG_RUNTIME_DIR: "/run/me" }, "/a/b"],
    [{ AXLR_SOCKET: "", XDG_RUNTIME_DIR: "/run/me" }, "/run/me/axlr/axlr.sock"],
    [{ XDG_RUNTIME_DIR: "relative" }, fallback],
    [{ XDG_RUNTIME_DIR: "" }, fallback],
    [{}, fallback],
  ];
  for (const [env, path] of rows) assert.equal(defaultSocketPath(env), path);
});

suite("trust", () => {
  let folder: string;
  let server: Server;
  let socket: string;
  let connections = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "axlr-js-"));
    socket = join(folder, "s");
    server = createServer((connection) => {
      connections += 1;
      connection.destroy();
    }).listen(socket);
    await once(server, "listening");
    await chmod(socket, 0o600);
  });

  after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  test("a folder or a socket that others can write is not connected to", async () => {
    await chmod(folder, 0o770);
    await assert.rejects(Client.connect({ socket }), { name: "UntrustedSocketError", message: /writable by others/ });
    await chmod(folder, 0o700);
    await chmod(socket, 0o602);
    await assert.rejects(Client.connect({ socket }), UntrustedSocketError);
    await chmod(socket, 0o600);
    assert.equal(connections, 0);
  });

  test("the socket behind a symlink is what is judged", async () => {
    const link = join(folder, "link");
    await symlink(socket, link);
    await chmod(folder, 0o720);
    await assert.rejects(Client.connect({ socket: link }), UntrustedSocketError);
    await chmod(folder, 0o700);
  });

  test("somebody else's socket is not trusted", async () => {
    await assert.rejects(judge(socket, socket, own + 1), { name: "UntrustedSocketError", message: /belongs to user/ });
  });

  test("a path without a listener, and one that is too long, say so", async () => {
    const rows: [string, RegExp][] = [
      [join(folder, "none"), /no axlrd listens there/],
      [join(folder, "x".repeat(108)), /at most 107/],
    ];
    for (const [path, message] of rows) {
      await assert.rejects(Client.connect({ socket: path }), (error: unknown) => {
        assert.ok(error instanceof ConnectError);
        assert.match(error.message, message);
        return true;
      });
    }
  });
});
