/** The compiler is the test here: each `@ts-expect-error` fails the build once the line below it is accepted. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { CodeJudgeOutput, CodeJudgePayload } from "@agentv/core";

/** Never called; its lines only have to be refused. */
export function misuse(payload: CodeJudgePayload): void {
  // @ts-expect-error: the key of the wire.
  void payload.candidate_answer;
  // @ts-expect-error: a typing error.
  void payload.candidateAnswr;
  // @ts-expect-error: `null` when there are none.
  void payload.outputMessages.length;
  // @ts-expect-error: nobody knows what is in a message before looking.
  void payload.inputMessages[0]?.content.length;
  // @ts-expect-error: a score is a number.
  const verdict: CodeJudgeOutput = { score: "1" };
  void verdict;
}

test("the trace is deprecated in favour of output messages", () => {
  const types = readFileSync(new URL("../../dist/generated/payload.d.ts", import.meta.url), "utf8");
  assert.match(types, /@deprecated\s+\* Use `outputMessages` instead\.[^/]*\*\/\s+candidateTrace:/);
});
