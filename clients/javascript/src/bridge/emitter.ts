type Listener<Details extends unknown[]> = (...details: Details) => void;

/** Events as pages know them. An event that nobody listens to is passed over, `error` included. */
export class Emitter<Events extends Record<keyof Events, unknown[]>> {
  readonly #listeners: { [E in keyof Events]?: Listener<Events[E]>[] } = {};

  /** Calls `listener` whenever the event happens. */
  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this {
    this.#listeners[event] = [...(this.#listeners[event] ?? []), listener];
    return this;
  }

  /** Calls `listener` the next time that the event happens. */
  once<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this {
    const wrapped: Listener<Events[E]> = (...details) => {
      this.off(event, wrapped);
      listener(...details);
    };
    return this.on(event, wrapped);
  }

  /** Takes a listener away. */
  off<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this {
    this.#listeners[event] = this.#listeners[event]?.filter((other) => other !== listener) ?? [];
    return this;
  }

  /** Tells the listeners. One that throws is reported to the platform, and the others are still told. */
  emit<E extends keyof Events>(event: E, ...details: Events[E]): void {
    for (const listener of this.#listeners[event] ?? []) {
      try {
        listener(...details);
      } catch (error) {
        report(error);
      }
    }
  }
}

/** Tells the platform of an error that nobody catches. */
function report(error: unknown): void {
  if (typeof reportError === "function") {
    reportError(error);
    return;
  }
  // Node has no reportError.
  queueMicrotask(() => {
    throw error;
  });
}
