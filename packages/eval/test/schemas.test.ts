/** The zod schemas have the fields of the wire: both are compared with `schemas/`, which is made from the Rust types. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as sdk from "@agentv/eval";
import type { InvokeRequest, InvokeResponse, TargetInvokeRequest, TargetInvokeResponse } from "@agentv/eval";

interface WireObject {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly $defs?: Readonly<Record<string, WireObject>>;
}

const SCHEMAS = new URL("../../../schemas/", import.meta.url);

/** How the SDK names what has another name on the wire. */
const NAMES: Readonly<Record<string, string>> = {
  CodeJudgePayload: "CodeJudgeInput",
  CodeJudgeOutput: "CodeJudgeResult",
  OutputMessage: "Message",
};

function wire(name: string): WireObject {
  return JSON.parse(readFileSync(new URL(`${name}.schema.json`, SCHEMAS), "utf8")) as WireObject;
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function checkFields(name: string, object: WireObject): void {
  const schema = Object.entries(sdk).find(([key]) => key === `${NAMES[name] ?? name}Schema`)?.[1];
  assert.ok(schema instanceof sdk.z.ZodObject, `the SDK has no schema of ${name}`);
  const expected = Object.keys(object.properties ?? {}).map(camelCase);
  assert.deepEqual(Object.keys(schema.shape).sort(), expected.sort(), name);
}

for (const [file, name] of [["code-judge-payload", "CodeJudgePayload"], ["code-judge-output", "CodeJudgeOutput"]] as const) {
  test(`the schemas have every field of ${name}`, () => {
    const root = wire(file);
    checkFields(name, root);
    for (const [inner, object] of Object.entries(root.$defs ?? {})) {
      if (object.properties) checkFields(inner, object);
    }
  });
}

/** Never called: the compiler checks that the names of 2.x mean the same. */
export const request = (request: TargetInvokeRequest): InvokeRequest => request;
export const response = (response: TargetInvokeResponse): InvokeResponse => response;
