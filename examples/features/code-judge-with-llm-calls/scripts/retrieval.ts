/** What the candidate's search found, best first. */
import type { CodeJudgeInput } from "@agentv/eval";

/** The texts that the tool `search` gave back. */
export function retrievedNodes(input: CodeJudgeInput): string[] {
  const calls = (input.outputMessages ?? []).flatMap((message) => message.toolCalls ?? []);
  const found = calls.filter((call) => call.tool === "search").flatMap((call) => call.output);
  return found.filter((node) => typeof node === "string");
}
