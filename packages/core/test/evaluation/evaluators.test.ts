/** Judges written with the SDK, as processes of their own. The same fixture is run by AgentV itself in `tests/spec/sdk.rs`. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const PAYLOAD = readFileSync(fromHere("../../test/fixtures/payload.json"), "utf8");
const RUNTIMES = [
  ["Node", process.execPath, fromHere("../fixtures/test-sdk-judge.js")],
  ["bun", fromHere("../../../../node_modules/.bin/bun"), fromHere("../../test/fixtures/test-sdk-judge.ts")],
] as const;

for (const [name, program, script] of RUNTIMES) {
  test(`works with TypeScript SDK-based code judge (${name})`, () => {
    const ran = spawnSync(program, [script], { input: PAYLOAD, encoding: "utf8" });
    assert.equal(ran.status, 0, ran.stderr);
    const verdict: unknown = JSON.parse(ran.stdout);
    assert.deepEqual(verdict, {
      score: 1,
      hits: ["has Paris"],
      misses: [],
      reasoning: "Names the capital",
      details: {
        keys: [
          "candidateAnswer",
          "candidateTrace",
          "candidateTraceSummary",
          "changedFiles",
          "config",
          "executionMetrics",
          "expectedMessages",
          "expectedOutcome",
          "fileChanges",
          "fileChangesTruncated",
          "guidelineFiles",
          "inputFiles",
          "inputMessages",
          "outputMessages",
          "question",
          "referenceAnswer",
          "traceSummary",
          "workspacePath",
        ],
        config: { max_items: 3, nested_value: { deep_key: true } },
        toolCalls: [
          { tool: "look_up", input: { place_name: "France" }, output: [{ city_name: "Paris" }], durationMs: 12 },
        ],
        toolCallsByName: { look_up: 1 },
      },
    });
  });

  test(`a judge without a payload fails (${name})`, () => {
    const ran = spawnSync(program, [script], { input: "", encoding: "utf8" });
    assert.equal(ran.status, 1);
    assert.match(ran.stderr, /there was nothing/);
  });
}
