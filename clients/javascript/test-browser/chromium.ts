// Debian's Chromium, without a window.
import { type Browser, chromium } from "playwright-core";

/** Starts it. `rebound` is a name that it resolves to this machine. */
export function launch(rebound: string): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      `--host-resolver-rules=MAP ${rebound} 127.0.0.1`,
    ],
  });
}
