// One output of a process, for listeners and for loops.
import { Emitter } from "./emitter.js";
import { CHUNKS_WAITING } from "./limits.js";

interface OutputEvents {
  /** Text as it comes. A character that is split over two chunks comes whole with the second. */
  data: [text: string];
  /** Bytes as the pipe gave them. */
  bytes: [bytes: Uint8Array];
  /** No more will come. */
  end: [];
}

/**
 * stdout or stderr. What comes while nobody listens is gone: listen, or begin a loop, in the turn that spawned the
 * process.
 */
export class Output extends Emitter<OutputEvents> implements AsyncIterable<string> {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #loops = new Set<Loop<string> | Loop<Uint8Array>>();
  #hasEnded = false;

  /** Text, as the event `data` has it. Leaving the loop leaves the process alone. */
  [Symbol.asyncIterator](): AsyncIterableIterator<string> {
    return this.#loop((loop: Loop<string>) => this.on("data", (text) => loop.push(text)));
  }

  /** Bytes, as the event `bytes` has them. */
  bytes(): AsyncIterableIterator<Uint8Array> {
    return this.#loop((loop: Loop<Uint8Array>) => this.on("bytes", (bytes) => loop.push(bytes)));
  }

  /** @internal A chunk from the process. Resolves when the next may come. */
  async take(bytes: Uint8Array): Promise<void> {
    this.emit("bytes", bytes);
    this.#say(this.#decoder.decode(bytes, { stream: true }));
    for (const loop of this.#loops) await loop.room();
  }

  /** @internal No more will come. With an `error` it is not whole, and loops throw that. */
  end(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // What is left of a character that was cut.
    this.#say(this.#decoder.decode());
    for (const loop of this.#loops) loop.end(error);
    this.emit("end");
  }

  #say(text: string): void {
    if (text !== "") this.emit("data", text);
  }

  #loop<T extends string | Uint8Array>(listen: (loop: Loop<T>) => void): AsyncIterableIterator<T> {
    const loop = new Loop<T>(() => this.#loops.delete(loop as never));
    listen(loop);
    if (this.#hasEnded) loop.end();
    else this.#loops.add(loop as never);
    return loop;
  }
}

/** What waits for one loop. While it is full, the stream is not read, which slows the process down to the loop. */
class Loop<T> implements AsyncIterableIterator<T> {
  readonly #onLeave: () => void;
  #waiting: T[] = [];
  #end: { error?: unknown } | undefined;
  #wake: (() => void) | undefined;
  #makeRoom: (() => void) | undefined;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(item: T): void {
    if (this.#end) return;
    this.#waiting.push(item);
    this.#wake?.();
  }

  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
    this.#makeRoom?.();
  }

  async room(): Promise<void> {
    while (!this.#end && this.#waiting.length >= CHUNKS_WAITING) {
      await new Promise<void>((resolve) => (this.#makeRoom = resolve));
    }
  }

  async next(): Promise<IteratorResult<T>> {
    for (;;) {
      const value = this.#waiting.shift();
      this.#makeRoom?.();
      if (value !== undefined) return { done: false, value };
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<T>> {
    this.#waiting = [];
    this.#end = {};
    this.#makeRoom?.();
    this.#onLeave();
    return { done: true, value: undefined };
  }
}
