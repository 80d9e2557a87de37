// The bridge as a page sees it: the real daemon, a real browser.
import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import type { Browser, BrowserContext, Page } from "playwright-core";

import { BridgeDaemon } from "../test/support/bridge.js";
import { isAlive, until } from "../test/support/daemon.js";
import { launch } from "./chromium.js";
import { Pages } from "./pages.js";

/** A name that an attacker's DNS server could point to this machine. */
const REBOUND = "rebound.example";

/** What runs in the page knows the client by this. */
interface Scope {
  bridge: import("axlr/bridge").Bridge;
}

suite("a page", { timeout: 120_000 }, () => {
  let pages: Pages;
  let strangers: Pages;
  let daemon: BridgeDaemon;
  let browser: Browser;
  let context: BrowserContext;

  before(async () => {
    pages = await Pages.start();
    strangers = await Pages.start();
    daemon = await BridgeDaemon.start({ origins: [pages.origin] });
    browser = await launch(REBOUND);
    context = await browser.newContext();
  });

  after(async () => {
    await browser?.close();
    for (const one of [daemon, pages, strangers]) await one?.[Symbol.asyncDispose]();
  });

  /** Opens a page of that origin, with a bridge in its global scope. */
  async function open({ origin }: Pages): Promise<Page> {
    const page = await context.newPage();
    await page.goto(origin);
    await page.evaluate(
      async ({ module, url, token }) => {
        const { Bridge } = (await import(module)) as typeof import("axlr/bridge");
        (globalThis as unknown as Scope).bridge = new Bridge({ url, token });
      },
      { module: `${origin}/axlr/bridge/index.js`, url: daemon.url, token: daemon.token },
    );
    return page;
  }

  /** Spawns a sleeper from a page. Returns the process ids of its shell and its child. */
  function spawnSleeper(page: Page): Promise<number[]> {
    return page.evaluate(async () => {
      const child = (globalThis as unknown as Scope).bridge.spawn("sleep 600 & echo $$ $!; wait");
      Object.assign(globalThis, { child });
      const line = await new Promise<string>((resolve) => child.stdout.once("data", resolve));
      return line.trim().split(" ").map(Number);
    });
  }

  test("of an allowed origin runs a command, after a preflight that passes", async () => {
    const page = await open(pages);
    const devtools = await context.newCDPSession(page);
    const preflights: number[] = [];
    devtools.on("Network.responseReceived", ({ type, response }) => {
      if (type === "Preflight") preflights.push(response.status);
    });
    await devtools.send("Network.enable");
    const result = await page.evaluate(() =>
      (globalThis as unknown as Scope).bridge.exec("echo 日本; echo oops >&2; exit 3", { env: { A: "1" } }),
    );
    assert.deepEqual(result, { errno: 3, stdout: "日本\n", stderr: "oops\n" });
    assert.deepEqual(preflights, [204]);
    await page.close();
  });

  test("hears of output while the command runs, and of characters as a whole", async () => {
    const page = await open(pages);
    const heard = await page.evaluate(async () => {
      const child = (globalThis as unknown as Scope).bridge.spawn(
        "printf 'a\\303'; sleep 0.5; printf '\\251b'; exit 4",
      );
      const texts: string[] = [];
      const times: number[] = [];
      child.stdout.on("data", (text) => {
        texts.push(text);
        times.push(performance.now());
      });
      const code = await child.exited;
      return { texts, code, early: performance.now() - (times[0] ?? Infinity) };
    });
    assert.deepEqual([heard.texts, heard.code], [["a", "éb"], 4]);
    assert.ok(heard.early > 300, `the first chunk came ${heard.early} ms before the end`);
    await page.close();
  });

  test("iterates over much output, slowly, and gets all of it", async () => {
    const page = await open(pages);
    const bytes = await page.evaluate(async () => {
      const child = (globalThis as unknown as Scope).bridge.spawn("head", ["-c", "20000000", "/dev/zero"]);
      let total = 0;
      for await (const chunk of child.stdout.bytes()) {
        if (total === 0) await new Promise((resume) => setTimeout(resume, 200));
        total += chunk.length;
      }
      return total;
    });
    assert.equal(bytes, 20_000_000);
    await page.close();
  });

  test("kills what it spawned", async () => {
    const page = await open(pages);
    const pids = await spawnSleeper(page);
    assert.ok(pids.length === 2 && pids.every(isAlive));
    const code = await page.evaluate(() => {
      const { child } = globalThis as unknown as { child: import("axlr/bridge").ChildProcess };
      child.kill();
      return child.exited;
    });
    assert.equal(code, null);
    await until(() => !pids.some(isAlive));
    await page.close();
  });

  test("that is closed, or left, leaves no process", async () => {
    for (const leave of [(page: Page) => page.close(), (page: Page) => page.goto("about:blank")]) {
      const page = await open(pages);
      const pids = await spawnSleeper(page);
      assert.ok(pids.length === 2 && pids.every(isAlive));
      await leave(page);
      await until(() => !pids.some(isAlive));
    }
  });

  test("hears of a wrong token as a typed error", async () => {
    const page = await open(pages);
    const error = await page.evaluate(
      async ({ module, url }) => {
        const { Bridge } = (await import(module)) as typeof import("axlr/bridge");
        const failure: unknown = await new Bridge({ url, token: "wrong" })
          .exec("true")
          .catch((cause: unknown) => cause);
        const { name, status } = failure as { name: string; status: number };
        return { name, status };
      },
      { module: `${pages.origin}/axlr/bridge/index.js`, url: daemon.url },
    );
    assert.deepEqual(error, { name: "UnauthorizedError", status: 401 });
    await page.close();
  });

  test("of another origin is refused, and runs nothing", async () => {
    const page = await open(strangers);
    const mark = join(daemon.root, "stranger");
    const names = await page.evaluate(
      async (file) => {
        const { bridge } = globalThis as unknown as Scope;
        const name = (error: unknown): string => (error as Error).name;
        // Without the headers that need a preflight, a browser sends the request itself.
        const simple = fetch(`${location.protocol}//${new URL(file.url).host}/exec`, {
          method: "POST",
          body: JSON.stringify({ cmd: `touch ${file.mark}` }),
        });
        return [
          await bridge.exec(`touch ${file.mark}`).then(() => "no error", name),
          await bridge.spawn(`touch ${file.mark}`).exited.then(() => "no error", name),
          await simple.then((response) => response.type, name),
        ];
      },
      { mark, url: daemon.url },
    );
    assert.deepEqual(names, ["UnreachableError", "UnreachableError", "TypeError"]);
    await assert.rejects(access(mark));
    await page.close();
  });

  test("that the README shows works as it stands", async () => {
    const [, example = ""] = /```html\n(.*?)```/s.exec(await readFile("README.md", "utf8")) ?? [];
    assert.ok(example.includes("http://127.0.0.1:8787"));
    await using shown = await Pages.start(() => example.replace("http://127.0.0.1:8787", shownDaemon.url));
    await using shownDaemon = await BridgeDaemon.start({ origins: [shown.origin] });
    const page = await context.newPage();
    page.on("dialog", (dialog) => dialog.accept(shownDaemon.token));
    await page.goto(shown.origin);
    await page.click("button");
    await page.waitForFunction(() => document.querySelector("pre")?.textContent?.includes("exit code"));
    assert.equal(await page.textContent("pre"), "one\ntwo\nexit code 3\n");
    await page.close();
  });

  test("that rebound its name to this machine is refused, token or not", async () => {
    const page = await context.newPage();
    const answer = await page.goto(`http://${REBOUND}:${daemon.port}/health`);
    assert.equal(answer?.status(), 403);
    const status = await page.evaluate(async (token) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      return (await fetch("/exec", { method: "POST", headers, body: '{"cmd":"true"}' })).status;
    }, daemon.token);
    assert.equal(status, 403);
    await page.close();
  });
});
