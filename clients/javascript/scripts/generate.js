// Writes src/node/generated.ts from the JSON Schemas of the protocol. `test/generated.test.ts` fails when the file is
// not what this prints.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const SCHEMAS = new URL("../../../protocol/schema/", import.meta.url);
const TARGET = new URL("../src/node/generated.ts", import.meta.url);

/** Items of arrays that deserve a name of their own, by the member that holds them. */
const NAMED_ITEMS = { matches: "Match", entries: "Entry" };

/**
 * Members of outputs that take the size of a file, which can pass 2^53 (a sparse file has up to 2^63-1 bytes). All other
 * outputs count things that happened or are bounded by a limit, so they are plain numbers.
 */
const FILE_SIZES = new Set(["size", "start_offset_bytes", "next_offset_bytes"]);

/** Which tool sends an event, by the first member that it must have. */
const EVENT_SENDERS = {
  pid: ["exec", "Started"],
  data: ["exec", null],
  matches: ["search", "Matches"],
  files_scanned: ["search", "SearchProgress"],
  entries: ["list", "Entries"],
  entries_seen: ["list", "ListProgress"],
  progress: ["plugins.call", "PluginProgress"],
};

/** The whole text of `generated.ts`. */
export function generate() {
  const tools = readdirSync(SCHEMAS)
    .filter((file) => file.startsWith("tool."))
    .sort()
    .map(read);
  const named = new Map();
  const interfaces = tools.flatMap((tool) => [
    declare(`${pascal(tool.name)}Arguments`, tool.arguments_schema, { isOutput: false, named }),
    declare(`${pascal(tool.name)}Output`, tool.output_schema, { isOutput: true, named }),
  ]);
  const events = eventTypes(read("event.json"), named);
  const { status, error } = read("response.json").properties;
  const codes = error.properties.code.examples.map((code) => JSON.stringify(code));
  return [
    "// Written by `npm run generate` from protocol/schema. Not to be edited.",
    "",
    doc("An integer of 64 bits: a number while it is a safe integer, else a bigint."),
    "export type Int64 = number | bigint;",
    "",
    doc("How a request ended. Source: SPEC §1.3."),
    `export type Status = ${union(status.oneOf)};`,
    "",
    doc("A stable error code. A later daemon may know more. Source: SPEC §5."),
    `export type Code = ${codes.join(" | ")} | (string & {});`,
    "",
    ...[...named.values()].sort().flatMap((text) => [text, ""]),
    ...interfaces.flatMap((text) => [text, ""]),
    ...events,
    doc("Every tool with the types of its arguments and its output."),
    "export interface Tools {",
    ...tools.map(
      ({ name }) =>
        `  ${JSON.stringify(name)}: { arguments: ${pascal(name)}Arguments; output: ${pascal(name)}Output };`,
    ),
    "}",
    "",
  ].join("\n");
}

function read(file) {
  return JSON.parse(readFileSync(new URL(file, SCHEMAS), "utf8"));
}

function pascal(name) {
  return name.replace(/(^|[._])([a-z])/g, (_, _separator, letter) => letter.toUpperCase());
}

function doc(text, indent = "") {
  return `${indent}/** ${text.trim().replace(/\s+/g, " ").replaceAll("*/", "*\\/")} */`;
}

function declare(name, schema, context) {
  const head = schema.description ? `${doc(schema.description)}\n` : "";
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) {
    return `${head}export type ${name} = Record<string, never>;`;
  }
  return `${head}export interface ${name} {\n${body(schema, context, "  ")}}`;
}

function body(schema, context, indent) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties)
    .map(([member, value]) => {
      const comment = value.description ? `${doc(value.description, indent)}\n` : "";
      const optional = required.has(member) ? "" : "?";
      return `${comment}${indent}${member}${optional}: ${type(value, { ...context, member }, indent)};\n`;
    })
    .join("");
}

function type(schema, context, indent) {
  if (schema === true || Object.keys(schema).every((key) => key === "description")) return "unknown";
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices?.every((choice) => "const" in choice)) return union(choices);
  if (choices) return choices.map((choice) => type(choice, context, indent)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = [schema.type].flat();
  return types.map((one) => single(one, schema, context, indent)).join(" | ");
}

function single(name, schema, context, indent) {
  switch (name) {
    case "integer":
      return integer(schema, context);
    case "number":
    case "string":
    case "boolean":
    case "null":
      return name === "string" && schema.contentEncoding ? "Uint8Array" : name;
    case "array": {
      const item = type(named(schema.items, context), context, indent);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      return object(schema, context, indent);
    default:
      throw new Error(`${context.member}: the generator does not know the type ${name}`);
  }
}

function integer(schema, { isOutput, member }) {
  const isWide = schema.format?.endsWith("64") && (!isOutput || FILE_SIZES.has(member));
  return isWide ? "Int64" : "number";
}

function object(schema, context, indent) {
  if (schema.typeName) return schema.typeName;
  if (schema.properties) return `{\n${body(schema, context, `${indent}  `)}${indent}}`;
  const values = schema.additionalProperties;
  return `Record<string, ${values === true ? "unknown" : type(values, context, indent)}>`;
}

/** Gives the items of some arrays an interface of their own. */
function named(items, { member, isOutput, named: known }) {
  const name = NAMED_ITEMS[member];
  if (!name) return items;
  known.set(name, declare(name, items, { isOutput, named: known }));
  return { type: "object", typeName: name };
}

function union(choices) {
  return choices.map((choice) => JSON.stringify(choice.const)).join(" | ");
}

function eventTypes(schema, known) {
  const senders = new Map();
  const context = { isOutput: true, named: known };
  const interfaces = schema.anyOf.flatMap((variant) => {
    const [tool, given] = EVENT_SENDERS[variant.required[0]];
    const name = `${given ?? pascal(variant.properties.event.const)}Event`;
    senders.set(tool, [...(senders.get(tool) ?? []), name]);
    const { event, ...members } = variant.properties;
    const properties = { event, ...members };
    const required = ["event", ...variant.required];
    return [`export interface ${name} extends EventEnvelope {\n${body({ properties, required }, context, "  ")}}`, ""];
  });
  return [
    doc("What every event has. Source: SPEC §6."),
    "export interface EventEnvelope {",
    "  protocol_version: number;",
    "  request_id: string;",
    doc(schema.properties.seq.description, "  "),
    "  seq: number;",
    "}",
    "",
    ...interfaces,
    doc("The tools that send events, and which."),
    "export interface Events {",
    ...[...senders].map(([tool, names]) => `  ${JSON.stringify(tool)}: ${names.join(" | ")};`),
    "}",
    "",
  ];
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(TARGET, generate());
}
