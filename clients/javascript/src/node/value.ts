// Values on their way to a message and back: what the protocol can carry, and integers of 64 bits.
import { UnsendableError } from "./errors.js";
import { DEPTH_MAX } from "./limits.js";

/** What a message can hold. Integers beyond 2^53 are bigints, never numbers. */
export type Value = null | boolean | number | bigint | string | Value[] | { [name: string]: Value };

const INTEGER_MIN = -(2n ** 63n);
const INTEGER_MAX = 2n ** 64n - 1n;

/**
 * Copies a request, leaving out members that are undefined.
 *
 * A number that is a safe integer is an integer; every other number is a double. A bigint is an exact integer between
 * -2^63 and 2^64-1.
 *
 * @throws {UnsendableError} naming the member, for what the protocol can't carry: NaN and infinities, bigints out of
 * range, unpaired surrogates, nesting deeper than 128 levels, and what is no data at all.
 * Source: SPEC §1.2.
 */
export function sendable(input: unknown, place = "the request", depth = 1): Value {
  switch (typeof input) {
    case "boolean":
      return input;
    case "string":
      return text(input, place);
    case "number":
      if (Number.isFinite(input)) return input;
      throw new UnsendableError(`${place} is ${input}, which a request can't carry`);
    case "bigint":
      if (input >= INTEGER_MIN && input <= INTEGER_MAX) return input;
      throw new UnsendableError(`${place} is ${input}, and integers lie between -2^63 and 2^64-1`);
    case "object":
      return input === null ? null : nested(input, place, depth);
    default:
      throw new UnsendableError(`${place} is ${describe(input)}, which a request can't carry`);
  }
}

function nested(input: object, place: string, depth: number): Value {
  if (depth > DEPTH_MAX) {
    throw new UnsendableError(`${place} nests deeper than ${DEPTH_MAX} levels`);
  }
  if (Array.isArray(input)) {
    return input.map((item, index) => sendable(item, `${place}[${index}]`, depth + 1));
  }
  const prototype: unknown = Object.getPrototypeOf(input);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new UnsendableError(`${place} is ${describe(input)}, which a request can't carry`);
  }
  const members = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    members.map(([name, value]) => [text(name, place), sendable(value, `${place}.${name}`, depth + 1)]),
  );
}

function text(input: string, place: string): string {
  if (input.isWellFormed()) return input;
  throw new UnsendableError(`${place} holds an unpaired surrogate`);
}

function describe(input: unknown): string {
  return typeof input === "object" && input !== null ? `a ${input.constructor?.name ?? "object"}` : `a ${typeof input}`;
}

/** An integer as this client hands it out: a number while it is safe. */
export function narrow(integer: bigint): number | bigint {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/** Begins names and strings that a codec had to disguise, see {@link reveal}. */
export const DISGUISE = "\0";

/**
 * Undoes what a codec did to carry what its library can't: `leaf` gives back each value that is neither an array nor an
 * object, and a name that begins with {@link DISGUISE} loses that one character.
 */
export function reveal(value: unknown, leaf: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return leaf(value);
  if (Array.isArray(value)) return value.map((item) => reveal(item, leaf));
  const members = Object.entries(value).map(([name, member]) => {
    const isDisguised = name.startsWith(DISGUISE);
    return [isDisguised ? name.slice(DISGUISE.length) : name, reveal(member, leaf)];
  });
  return Object.fromEntries(members);
}
