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
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
