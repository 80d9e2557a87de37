// The golden frames of the protocol, in both encodings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";

import { type Encoding, FrameDecoder, decodeDocument, encodeFrame } from "#node/frame.js";
import { readMessage } from "#node/message.js";
import type { Value } from "#node/value.js";

interface Golden {
  name: string;
  json: string;
  msgpack_hex: string;
}

function golden(file: string): Golden[] {
  const lines = readFileSync(`../../protocol/fixtures/${file}.jsonl`, "utf8").trim().split("\n");
  assert.ok(lines.length > 5);
  return lines.map((line) => JSON.parse(line) as Golden);
}

const frames = ({ json, msgpack_hex }: Golden): [Encoding, Buffer][] => [
  ["json", Buffer.from(`${json}\n`)],
  ["msgpack", Buffer.from(msgpack_hex, "hex")],
];

/** The only document of a frame that arrives a byte at a time. */
function document(encoding: Encoding, frame: Buffer): Uint8Array {
  const decoder = new FrameDecoder(encoding);
  const documents = [...frame].flatMap((_, index) => [...decoder.push(frame.subarray(index, index + 1))]);
  assert.equal(documents.length, 1);
  assert.equal(decoder.isInside, false);
  return documents[0] as Uint8Array;
}

suite("requests", () => {
  for (const request of golden("requests")) {
    test(`${request.name} means the same in both encodings and is written as it was read`, () => {
      const values = frames(request).map(([encoding, frame]) => decodeDocument(encoding, document(encoding, frame)));
      assert.deepEqual(values[0], values[1]);
      for (const [encoding, frame] of frames(request)) {
        assert.deepEqual(Buffer.from(encodeFrame(encoding, values[0] as Value)).toString("hex"), frame.toString("hex"));
      }
    });
  }
});

for (const file of ["responses", "events"]) {
  suite(file, () => {
    for (const message of golden(file)) {
      test(`${message.name} reads the same in both encodings`, () => {
        const [json, msgpack] = frames(message).map(([encoding, frame]) =>
          plain(readMessage(encoding, document(encoding, frame))),
        );
        assert.deepEqual(json, msgpack);
        assert.deepEqual(Object.keys(json as object), [file === "responses" ? "response" : "event"]);
      });
    }
  });
}

test("the bytes of an event are bytes, and integers of 64 bits are exact", () => {
  const stdout = golden("events").find(({ name }) => name === "stdout") as Golden;
  const call = golden("responses").find(({ name }) => name === "plugins.call") as Golden;
  for (const [encoding, frame] of frames(stdout)) {
    const message = readMessage(encoding, document(encoding, frame));
    assert.ok("event" in message && message.event.event === "stdout");
    assert.deepEqual(Buffer.from(message.event.data), Buffer.from("text\n\0\xff", "latin1"));
  }
  for (const [encoding, frame] of frames(call)) {
    const message = readMessage(encoding, document(encoding, frame));
    assert.ok("response" in message && message.response.output && "structured_content" in message.response.output);
    assert.deepEqual(message.response.output.structured_content, { n: 18446744073709551615n, x: 1e300 });
  }
});

/** Buffers and arrays of bytes are the same bytes. */
function plain(message: object): unknown {
  if ("event" in message && typeof message.event === "object" && message.event && "data" in message.event) {
    return { event: { ...message.event, data: [...(message.event.data as Uint8Array)] } };
  }
  return message;
}
