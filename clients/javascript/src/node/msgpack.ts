// MessagePack through @msgpack/msgpack, with integers of 64 bits exact, any name of a member, and no extension types.
import { Decoder, Encoder, type ExtensionCodecType } from "@msgpack/msgpack";

import { DEPTH_MAX } from "./limits.js";
import { DISGUISE, narrow, reveal, type Value } from "./value.js";

/** Extension types are no part of the protocol. Source: SPEC §2.3. */
const noExtensions: ExtensionCodecType<undefined> = {
  tryToEncode: () => null,
  decode: () => {
    throw new SyntaxError("an extension type is no part of the protocol");
  },
};

/** The MessagePack document of a value. The bytes are the caller's. */
export function encodeMsgpack(value: Value): Uint8Array {
  const encoder = new Encoder({ useBigInt64: true, maxDepth: DEPTH_MAX + 1, extensionCodec: noExtensions });
  return encoder.encode(widen(value));
}

/**
 * The value of a MessagePack document. Integers that are not safe are bigints. Bin is a view into `document`.
 *
 * @throws {Error} when it is not one whole MessagePack value.
 */
export function decodeMsgpack(document: Uint8Array): unknown {
  try {
    return narrowIntegers(decode(document));
  } catch {
    // The library refuses the name `__proto__`, which a plugin's result may have. A second try puts names in disguise;
    // what is wrong in another way fails again.
    return reveal(decode(document, disguisedNames), (leaf) => (typeof leaf === "bigint" ? narrow(leaf) : leaf));
  }
}

function decode(document: Uint8Array, names?: typeof disguisedNames): unknown {
  const decoder = new Decoder({
    useBigInt64: true,
    extensionCodec: noExtensions,
    ...(names ? { keyDecoder: names } : {}),
    // An item takes a byte at least, so a larger claim is false and is refused before memory is taken for it.
    maxArrayLength: document.length,
    maxMapLength: document.length,
  });
  return decoder.decode(document);
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const disguisedNames = {
  canBeCached: () => true,
  decode(bytes: Uint8Array, offset: number, length: number): string {
    return DISGUISE + utf8.decode(bytes.subarray(offset, offset + length));
  },
};

/** Makes numbers of the bigints that are safe, in place: the value is ours. */
function narrowIntegers(value: unknown): unknown {
  if (typeof value === "bigint") return narrow(value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = narrowIntegers(value[index]);
    return value;
  }
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) members[name] = narrowIntegers(members[name]);
  return value;
}

/** With exact integers asked for, the library writes numbers beyond 32 bits as floats: they go in as bigints. */
function widen(value: Value): Value {
  if (typeof value === "number") return Number.isSafeInteger(value) && !isNarrow(value) ? BigInt(value) : value;
  if (typeof value === "bigint") return isNarrow(value) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(widen);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, widen(member)]));
  }
  return value;
}

/** Whether the library takes an integer as a number. */
function isNarrow(integer: number | bigint): boolean {
  return integer >= -(2 ** 31) && integer < 2 ** 32;
}
