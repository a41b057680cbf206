/**
 * Were the right files attached, and does the answer refer to each of them?
 *
 * The names that are expected come from the evaluator's own key `expected_files`, which is in `config`.
 */
import { basename } from "node:path";
import { type CodeJudgeOutput, type CodeJudgePayload, readCodeJudgePayload } from "@agentv/core";

console.log(JSON.stringify(verify(readCodeJudgePayload()), null, 2));

function verify(payload: CodeJudgePayload): CodeJudgeOutput {
  const attached = [...(payload.guidelineFiles ?? []), ...(payload.inputFiles ?? [])].map((path) => basename(path));
  const expected = expectedFiles(payload);
  const hits: string[] = [];
  const misses: string[] = [];
  for (const name of expected) {
    if (!attached.includes(name)) {
      misses.push(`${name} is not attached`);
    } else if (!payload.candidateAnswer.includes(name)) {
      misses.push(`the answer does not refer to ${name}`);
    } else {
      hits.push(`the answer refers to ${name}`);
    }
  }
  return {
    score: expected.length === 0 ? 1 : hits.length / expected.length,
    hits,
    misses,
    reasoning: `${hits.length} of ${expected.length} expected files are attached and referred to`,
    details: { attached },
  };
}

function expectedFiles(payload: CodeJudgePayload): string[] {
  const names = payload.config?.["expected_files"];
  return Array.isArray(names) ? names.map(String) : [];
}
