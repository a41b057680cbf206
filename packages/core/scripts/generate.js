/**
 * Writes `src/generated/payload.ts` from `schemas/`: the types in camelCase, and the table by which keys are renamed.
 * Both come from the one schema that the Rust side is checked against, so neither can drift.
 *
 *   node packages/core/scripts/generate.js [--check]
 */
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const ROOT = new URL("../../../", import.meta.url);
const TARGET = new URL("packages/core/src/generated/payload.ts", ROOT);
const HEAD = "// Written by `npm run generate` from `schemas/`; do not edit.\n";
const SCHEMAS = ["code-judge-payload", "code-judge-output"];

const parts = await Promise.all(SCHEMAS.map((name) => generate(new URL(`schemas/${name}.schema.json`, ROOT))));
const text = HEAD + parts.map((part) => part.types).join("") + table(Object.assign({}, ...parts.map((part) => part.keys)));

if (process.argv.includes("--check")) {
  const found = await readFile(TARGET, "utf8").catch(() => "");
  if (found !== text) {
    console.error("packages/core/src/generated/payload.ts is out of date; run `npm run generate`");
    process.exitCode = 1;
  }
} else {
  await writeFile(TARGET, text);
}

/** The types of a schema, and the keys of each of its objects. */
async function generate(file) {
  const schema = JSON.parse(await readFile(file, "utf8"));
  const objects = { [schema.title]: schema, ...schema.$defs };
  const keys = {};
  for (const [name, object] of Object.entries(objects)) {
    if (object.properties) keys[name] = keysOf(object.properties, objects);
  }
  for (const object of Object.values(objects)) inCamelCase(object);
  const types = await compile(schema, schema.title, { bannerComment: "", additionalProperties: false, format: true });
  return { types: `\n${types}`, keys };
}

/** Per key of the wire, its name in TypeScript and, where its value has keys of ours too, what that value is. */
function keysOf(properties, objects) {
  const entries = Object.entries(properties);
  return Object.fromEntries(entries.map(([key, value]) => [key, [camelCase(key), ...insideOf(value, objects)]]));
}

/** `[]` for plain values and for users' own data, whose keys are nobody's business. */
function insideOf(property, objects) {
  const found = JSON.stringify({ items: property.items, anyOf: property.anyOf, $ref: property.$ref });
  const name = /"#\/\$defs\/(\w+)"/.exec(found)?.[1];
  return objects[name]?.properties ? [name] : [];
}

function inCamelCase(object) {
  if (!object.properties) return;
  for (const property of Object.values(object.properties)) {
    if (property.description) property.description = property.description.replace(/`\w+`/g, camelCase);
    // Without this the compiler takes a property of any type for an object.
    if (property instanceof Object && Object.keys(property).every((key) => key === "description")) property.tsType = "unknown";
  }
  object.properties = renamed(object.properties);
  object.required = object.required?.map(camelCase);
}

function renamed(properties) {
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [camelCase(key), value]));
}

function camelCase(key) {
  return key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

function table(keys) {
  const objects = Object.entries(keys).map(([name, fields]) => {
    const lines = Object.entries(fields).map(([key, value]) => `    ${key}: ${JSON.stringify(value).replaceAll(",", ", ")},\n`);
    return `  ${name}: {\n${lines.join("")}  },\n`;
  });
  return `
/** Per object, its keys on the wire: how TypeScript spells each, and which object is inside. */
export const WIRE_KEYS = {
${objects.join("")}} as const;
`;
}
