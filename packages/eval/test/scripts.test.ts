/** Judges and prompt templates as processes of their own, on both runtimes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type CodeJudgePayload, parseCodeJudgePayload } from "@agentv/core";
import type { CodeJudgeInput, CodeJudgeResult } from "@agentv/eval";
import { PAYLOAD, type Ran, RUNTIMES, runScript } from "./run-script.js";
import { INFO, startStubProxy } from "./stub-proxy.js";

const withConfig = (config: unknown): string => JSON.stringify({ ...PAYLOAD, config });

const FULL_PAYLOAD = readFileSync(new URL("../../core/test/fixtures/payload.json", import.meta.url), "utf8");

function verdictOf(ran: Ran): CodeJudgeResult {
  const verdict: unknown = JSON.parse(ran.stdout);
  assert.equal(ran.stdout, `${JSON.stringify(verdict, null, 2)}\n`);
  return verdict as CodeJudgeResult;
}

/** Never called: the compiler checks that what AgentV sends is what a handler takes. */
export const accepts = (payload: CodeJudgePayload): CodeJudgeInput => payload;

for (const runtime of RUNTIMES) {
  test(`a judge sees camelCase and its users' keys as they are (${runtime})`, async () => {
    const ran = await runScript(runtime, "judge", JSON.stringify(PAYLOAD));
    assert.equal(ran.code, 0, ran.stderr);
    const verdict = verdictOf(ran);
    assert.deepEqual([verdict.score, verdict.hits, verdict.misses], [1, ["It is Paris."], []]);
    const { input } = verdict.details as { input: CodeJudgeInput };
    assert.deepEqual(input.config, { max_items: 3 });
    assert.deepEqual(input.outputMessages, [
      { role: "developer", content: 7, toolCalls: [{ tool: "look_up", input: { place_name: "France" } }] },
    ]);
    assert.equal(input.changedFiles?.[0]?.oldPath, "old.py");
    assert.equal("key_of_a_newer_agentv" in input, false);
    assert.match(ran.stderr, /a line of debugging/);
  });

  test(`scores are passed on as they are (${runtime})`, async () => {
    for (const score of [95, -1, 0.25]) {
      const ran = await runScript(runtime, "judge", withConfig({ verdict: { score } }));
      assert.deepEqual([ran.code, verdictOf(ran).score], [0, score]);
    }
  });

  test(`details are an object, an array or nothing (${runtime})`, async () => {
    for (const details of [{ a: 1 }, [1, { b: 2 }], null]) {
      const ran = await runScript(runtime, "judge", withConfig({ verdict: { score: 1, details } }));
      assert.deepEqual([ran.code, verdictOf(ran).details], [0, details]);
    }
  });

  test(`a judge gets the whole payload (${runtime})`, async () => {
    const ran = await runScript(runtime, "judge", FULL_PAYLOAD);
    assert.equal(ran.code, 0, ran.stderr);
    const { input } = verdictOf(ran).details as { input: CodeJudgeInput };
    assert.deepEqual(input, parseCodeJudgePayload(FULL_PAYLOAD));
    assert.equal(input.candidateTrace?.[0]?.name, "look_up");
  });

  for (const [why, stdin, message] of [
    ["its handler throws", withConfig({ throw: true }), /^no luck$/],
    ["the verdict is none", withConfig({ verdict: { score: "high" } }), /^the verdict is not as expected: score: /],
    ["details are text", withConfig({ verdict: { score: 1, details: "x" } }), /details: /],
    ["details are a number", withConfig({ verdict: { score: 1, details: 7 } }), /details: /],
    ["details are not JSON", withConfig({ bigint: true }), /BigInt/],
    ["the payload lacks a key", '{"question": "?"}', /^the payload is not as expected: .*candidateAnswer: /],
    ["there is no JSON", "{", /no JSON/],
  ] as const) {
    test(`a judge fails with a verdict when ${why} (${runtime})`, async () => {
      const ran = await runScript(runtime, "judge", stdin);
      assert.equal(ran.code, 1);
      const verdict = verdictOf(ran);
      assert.match(verdict.misses?.[0] ?? "", message);
      assert.deepEqual(verdict, {
        score: 0,
        hits: [],
        misses: verdict.misses,
        reasoning: `Evaluation failed: ${verdict.misses?.[0]}`,
      });
    });
  }

  test(`a prompt template prints its prompt alone (${runtime})`, async () => {
    const ran = await runScript(runtime, "template", JSON.stringify(PAYLOAD));
    assert.deepEqual([ran.code, ran.stdout], [0, "Grade: It is Paris."]);
    const failed = await runScript(runtime, "template", withConfig({ throw: true }));
    assert.deepEqual([failed.code, failed.stdout], [1, ""]);
    assert.match(failed.stderr, /no luck/);
  });

  test(`a judge asks through the proxy (${runtime})`, async () => {
    await using proxy = await startStubProxy();
    const env = Object.fromEntries(
      ["TARGET", "JUDGE"].flatMap((name) => [
        [`AGENTV_${name}_PROXY_URL`, proxy.url],
        [`AGENTV_${name}_PROXY_TOKEN`, "secret"],
      ]),
    );
    const ran = await runScript(runtime, "asking-judge", JSON.stringify(PAYLOAD), env);
    assert.equal(ran.code, 0, ran.stderr);
    assert.deepEqual(verdictOf(ran).details, { answer: "yes", batch: ["yes", "yes"], info: INFO, legacy: INFO });
    assert.deepEqual(proxy.asked[0]?.body, { question: "Is it?", target: "other" });
  });
}
