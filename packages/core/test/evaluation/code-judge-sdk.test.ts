import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseCodeJudgePayload } from "@agentv/core";

const TEXT = readFileSync(new URL("../../test/fixtures/payload.json", import.meta.url), "utf8");

test("every key of the schema is in camelCase", () => {
  const payload = parseCodeJudgePayload(TEXT);
  assert.equal(payload.candidateAnswer, "It is Paris.");
  assert.equal(payload.expectedOutcome, "Names the capital");
  assert.equal(payload.outputMessages?.[0]?.toolCalls?.[0]?.durationMs, 12);
  assert.equal(payload.expectedMessages[0]?.toolCalls?.[0]?.tool, "look_up");
  assert.deepEqual(payload.traceSummary?.tokenUsage, { input: 10, output: 2 });
  assert.deepEqual(payload.executionMetrics, { costUsd: 0.5, avgToolDurationMs: 12 });
  assert.deepEqual(payload.changedFiles?.[0]?.oldPath, "old_name.py");
  assert.equal(payload.workspacePath, "/tmp/agentv-one-abc/workspace");
  assert.equal(payload.candidateTraceSummary, null);
});

test("users' own keys stay as they are", () => {
  const payload = parseCodeJudgePayload(TEXT);
  const message = payload.outputMessages?.[0];
  assert.deepEqual(payload.config, { max_items: 3, nested_value: { deep_key: true } });
  assert.deepEqual(message?.content, { answer_text: "It is Paris.", tool_calls: [] });
  assert.deepEqual(message?.metadata, { latency_ms: 150 });
  assert.deepEqual(message?.toolCalls?.[0]?.input, { place_name: "France" });
  assert.deepEqual(message?.toolCalls?.[0]?.output, [{ city_name: "Paris" }]);
  assert.deepEqual(payload.inputMessages[0]?.content, [{ type: "file", file_path: "a.md" }]);
  assert.deepEqual(payload.traceSummary?.toolCallsByName, { look_up: 1 });
  assert.deepEqual(payload.traceSummary?.toolDurations, { look_up: [12] });
});

test("keys that nobody knows are handed on, and `__proto__` is only a key", () => {
  const payload = parseCodeJudgePayload('\uFEFF{"new_key": {"inner_key": 1}, "__proto__": {"polluted": true}}');
  assert.deepEqual(Object.keys(payload), ["new_key", "__proto__"]);
  assert.equal("polluted" in payload, false);
});

test("what is no payload says so", () => {
  assert.throws(() => parseCodeJudgePayload(" "), /nothing; try `<judge> < payload.json`/);
  assert.throws(() => parseCodeJudgePayload("{"), /no JSON/);
  assert.throws(() => parseCodeJudgePayload("[]"), /no JSON object/);
});
