// The events of one request between the connection that reads them and the caller that takes them.
import { EVENTS_WAITING } from "./limits.js";
import type { AnyEvent } from "./message.js";

/**
 * A bounded line of events. The connection is not read while one is full, so the daemon in turn slows the stream down
 * to the child's pipe.
 */
export class EventLine {
  #waiting: AnyEvent[] = [];
  #taker: ((event: AnyEvent | undefined) => void) | undefined;
  #hasEnded = false;
  #isDiscarding = false;
  readonly #onRoom: (line: EventLine) => void;

  /** `onRoom` is called whenever the line may no longer be full. */
  constructor(onRoom: (line: EventLine) => void) {
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#waiting.length >= EVENTS_WAITING;
  }

  push(event: AnyEvent): void {
    if (this.#isDiscarding) return;
    const taker = this.#taker;
    this.#taker = undefined;
    if (taker) taker(event);
    else this.#waiting.push(event);
  }

  /** The next event, or undefined after the last. One at a time may ask. */
  take(): Promise<AnyEvent | undefined> {
    const event = this.#waiting.shift();
    if (event) {
      this.#onRoom(this);
      return Promise.resolve(event);
    }
    if (this.#hasEnded || this.#isDiscarding) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#taker = resolve;
    });
  }

  /** No more events will come; those that wait may still be taken. */
  end(): void {
    this.#hasEnded = true;
    this.#taker?.(undefined);
    this.#taker = undefined;
  }

  /** Nobody will take an event any more. */
  discard(): void {
    this.#isDiscarding = true;
    this.#waiting = [];
    this.#taker?.(undefined);
    this.#taker = undefined;
    this.#onRoom(this);
  }
}
