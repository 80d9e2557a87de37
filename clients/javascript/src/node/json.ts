// JSON text that keeps integers of 64 bits exact. JSON.parse and JSON.stringify do the work; only numbers that a double
// can't hold take another way.
import { DISGUISE, narrow, reveal, type Value } from "./value.js";

/** Only a text with so many digits in a row can hold an integer that a double can't. */
const MANY_DIGITS = /[0-9]{16}/;
/** A number, where no string is. */
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const INTEGER = /^-?[0-9]+$/;
/** How {@link DISGUISE} stands in the text of a string. */
const DISGUISE_ESCAPE = "\\u0000";

/** The JSON text of a value, on one line. */
export function stringifyJson(value: Value): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return stringifyNumber(value);
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${stringifyJson(member)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

/** A number beyond the safe integers is a double, and is written as one. */
function stringifyNumber(value: number): string {
  const digits = JSON.stringify(value);
  return INTEGER.test(digits) && !Number.isSafeInteger(value) ? `${digits}.0` : digits;
}

/**
 * The value of a JSON text. Integers that are not safe become bigints.
 *
 * @throws {SyntaxError} when it is not JSON.
 */
export function parseJson(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  return reveal(JSON.parse(disguise(text)), (leaf) => {
    if (typeof leaf !== "string" || !leaf.startsWith(DISGUISE)) return leaf;
    const rest = leaf.slice(DISGUISE.length);
    return rest.startsWith(DISGUISE) ? rest : narrow(BigInt(rest));
  });
}

/**
 * Rewrites large integers as strings that begin with one NUL. A string that begins with one itself gets one more, so
 * that none is taken for the other.
 */
function disguise(text: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const stringStart = quote < 0 ? text.length : quote;
    parts.push(text.slice(at, stringStart).replace(NUMBER, disguiseNumber));
    if (quote < 0) break;
    const end = stringEnd(text, quote);
    const isMarked = text.startsWith(DISGUISE_ESCAPE, quote + 1);
    parts.push('"', isMarked ? DISGUISE_ESCAPE : "", text.slice(quote + 1, end));
    at = end;
  }
  return parts.join("");
}

function disguiseNumber(token: string): string {
  const isExact = !INTEGER.test(token) || Number.isSafeInteger(Number(token));
  return isExact ? token : `"${DISGUISE_ESCAPE}${token}"`;
}

/** Where the string that begins at `quote` ends, its closing quote included. */
function stringEnd(text: string, quote: number): number {
  let end = quote;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}
