// Promises with their ends in hand, and signals that end a wait.
import { setMaxListeners } from "node:events";

/** A promise with its ends in hand. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** Makes one. Promise.withResolvers does the same from Node 22 on. */
export function deferred<T>(): Deferred<T> {
  let ends: Omit<Deferred<T>, "promise"> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject };
  });
  // The executor above has run by now.
  return { promise, ...(ends as Omit<Deferred<T>, "promise">) };
}

/** Waits for `promise`, but no longer than until `signal` is aborted: then its reason is thrown. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const aborted = deferred<never>();
  const forget = whenAborted(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    forget();
  }
}

/** Acts once when a signal is aborted, or at once when it is already. Returns what takes that back. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => {};
  }
  // One signal for hundreds of calls is no leak, which Node would warn of.
  setMaxListeners(0, signal);
  signal.addEventListener("abort", act, { once: true });
  return () => signal.removeEventListener("abort", act);
}
