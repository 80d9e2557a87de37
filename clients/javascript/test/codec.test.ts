import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { ProtocolError, UnsendableError } from "axlr";

import { type Encoding, FrameDecoder, decodeDocument, encodeFrame } from "#node/frame.js";
import { readMessage } from "#node/message.js";
import { sendable } from "#node/value.js";

const ENCODINGS: Encoding[] = ["json", "msgpack"];

function carried(encoding: Encoding, value: unknown): unknown {
  const [document] = new FrameDecoder(encoding).push(encodeFrame(encoding, sendable({ value })));
  return (decodeDocument(encoding, document as Uint8Array) as { value: unknown }).value;
}

for (const encoding of ENCODINGS) {
  suite(encoding, () => {
    const same: [string, unknown][] = [
      [
        "small integers",
        [0, 1, -1, 127, 128, 255, 256, -32, -33, -128, -129, 65535, 65536, 2 ** 31, -(2 ** 31), 2 ** 32],
      ],
      ["the ends of the safe integers", [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
      ["integers of 64 bits", [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n]],
      ["doubles", [0.5, -1.25e-7, 1e300, 5e-324]],
      ["doubles that are whole and not safe", [2 ** 53, 1e20, -1e21]],
      ["text", ["", "é 😀", "\0", "\0\0" + "123", "\0" + "9".repeat(20), "\u2028", '\\"', "\\\\", "\uFEFFx"]],
      [
        "large integers beside marked text",
        { "\0": 2n ** 60n, "\0\0a": ["\0" + "9".repeat(20), '"', "\\"], 'a"\\': 1 },
      ],
      ["what JSON has", [null, true, false, [], {}, [[]], { "": {} }]],
      ["a name that is special elsewhere", JSON.parse('{"__proto__":{"a":[1]},"constructor":1}')],
    ];
    for (const [what, value] of same) {
      test(`${what} come back as they were`, () => assert.deepEqual(carried(encoding, value), value));
    }

    test("a small bigint comes back as a number", () =>
      assert.deepEqual(carried(encoding, [5n, -(2n ** 40n)]), [5, -(2 ** 40)]));

    test("members that are undefined are left out", () =>
      assert.deepEqual(carried(encoding, { a: undefined, b: 1 }), { b: 1 }));

    test("a request over 4 MiB is not sent", () => {
      const value = sendable({ value: "x".repeat(4 * 1024 * 1024) });
      assert.throws(() => encodeFrame(encoding, value), UnsendableError);
    });
  });
}

test("whatever is sent comes back, in both encodings", () => {
  const random = generator(20_260_102);
  for (let turn = 0; turn < 2_000; turn += 1) {
    const value = arbitrary(random, 4);
    for (const encoding of ENCODINGS) assert.deepEqual(carried(encoding, value), value);
  }
});

test("what a message can't carry is named", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const refused: [unknown, RegExp][] = [
    [{ a: [NaN] }, /the request\.a\[0\] is NaN/],
    [{ a: Infinity }, /is Infinity/],
    [{ a: 2n ** 64n }, /the request\.a is 18446744073709551616/],
    [{ a: -(2n ** 63n) - 1n }, /between -2\^63 and 2\^64-1/],
    [{ a: "\ud800" }, /the request\.a holds an unpaired surrogate/],
    [{ "\udfff": 1 }, /the request holds an unpaired surrogate/],
    [{ a: new Date() }, /is a Date/],
    [{ a: Buffer.from("x") }, /is a Buffer/],
    [{ a: () => 1 }, /is a function/],
    [[undefined], /\[0\] is a undefined/],
    [cycle, /nests deeper than 128 levels/],
  ];
  for (const [value, message] of refused) {
    assert.throws(() => sendable(value), { name: "UnsendableError", message });
  }
});

test("JSON lines are found whatever the chunks, the CR and the empty lines", () => {
  const bytes = Buffer.from('{"a":1}\r\n\n \t\r\n{"b":"é"}\n{"c":');
  for (let size = 1; size <= bytes.length; size += 1) {
    const decoder = new FrameDecoder("json");
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const line of decoder.push(bytes.subarray(at, at + size))) found.push(decodeDocument("json", line));
    }
    assert.deepEqual(found, [{ a: 1 }, { b: "é" }]);
    assert.equal(decoder.isInside, true);
  }
});

test("MessagePack frames are found whatever the chunks", () => {
  const values = [{ a: 1 }, { b: "é".repeat(300) }, {}];
  const bytes = Buffer.concat(values.map((value) => encodeFrame("msgpack", value)));
  for (let size = 1; size <= bytes.length; size += 1) {
    const decoder = new FrameDecoder("msgpack");
    const found: unknown[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const frame of decoder.push(bytes.subarray(at, at + size))) found.push(decodeDocument("msgpack", frame));
    }
    assert.deepEqual(found, values);
    assert.equal(decoder.isInside, false);
  }
});

test("a message over the bound is refused before it is kept", () => {
  assert.throws(() => [...new FrameDecoder("msgpack").push(Buffer.from([1, 0, 0, 0]))], ProtocolError);
  const decoder = new FrameDecoder("json", 10);
  assert.deepEqual([...decoder.push(Buffer.from("1234567890"))], []);
  assert.throws(() => [...decoder.push(Buffer.from("1"))], ProtocolError);
});

test("what is no message is refused", () => {
  const documents: [Encoding, string | number[]][] = [
    ["json", "{"],
    ["json", "[]"],
    ["json", "null"],
    ["json", '{"request_id":"1"}'],
    ["json", '{"request_id":1,"event":"started"}'],
    ["json", '{"request_id":"1","event":"stdout","data":1}'],
    ["json", '{"request_id":"1","status":"completed","output":null,"error":null}'],
    ["json", '{"request_id":"1","status":"completed","output":{},"error":{"code":"x"}}'],
    ["json", '{"request_id":"\xff'],
    ["msgpack", [0x80]],
    ["msgpack", [0xc1]],
    ["msgpack", [0x80, 0x80]],
    ["msgpack", [0x81]],
    ["msgpack", [0x81, 0xa1, 0x61, 0xd4, 0x01, 0x00]],
    ["msgpack", [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ["msgpack", [0xc7, 0x0c, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ["msgpack", Array(200_000).fill(0x91)],
  ];
  for (const [encoding, document] of documents) {
    const bytes = typeof document === "string" ? Buffer.from(document, "latin1") : Buffer.from(document);
    assert.throws(() => readMessage(encoding, bytes), ProtocolError, String(document).slice(0, 80));
  }
});

test("an event that a later daemon sends is passed over", () => {
  assert.deepEqual(readMessage("json", Buffer.from('{"request_id":"1","event":"new","seq":0}')), { unknown: "new" });
});

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A value with what the codecs must not confuse: quotes, escapes, long digits, marks, and integers of all sizes. */
function arbitrary(random: () => number, depth: number): unknown {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const many = <T>(make: () => T): T[] => Array.from({ length: Math.floor(random() * 5) }, make);
  const pieces = ['"', "\\", "\0", "\0\0", "12345678901234567890", "-", "e", "é", "😀", "\n", "__proto__", ":", ","];
  const text = (): string => many(() => pick(pieces)).join("");
  const integer = (): unknown => {
    const large = BigInt.asIntN(64, BigInt(Math.floor(random() * 2 ** 53)) << BigInt(Math.floor(random() * 12)));
    return Number.isSafeInteger(Number(large)) ? Number(large) : large;
  };
  switch (Math.floor(random() * (depth > 0 ? 7 : 5))) {
    case 0:
      return pick([null, true, false]);
    case 1:
      return integer();
    case 2:
      return (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    case 3:
    case 4:
      return text();
    case 5:
      return many(() => arbitrary(random, depth - 1));
    default:
      return Object.fromEntries(many(() => [text(), arbitrary(random, depth - 1)]));
  }
}
