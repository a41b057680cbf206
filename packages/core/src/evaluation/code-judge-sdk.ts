/** What a code judge is given on stdin. */
import { readFileSync } from "node:fs";
import type { CodeJudgePayload } from "../generated/payload.js";
import { toCamelCaseDeep } from "./wire-keys.js";

export type { CodeJudgePayload };

const STDIN = 0;

/**
 * Reads the payload from stdin, to its end. Synchronous, so that a judge needs no `await`; once per process, since
 * stdin is gone afterwards.
 */
export function readCodeJudgePayload(): CodeJudgePayload {
  return parseCodeJudgePayload(readFileSync(STDIN, "utf8"));
}

/**
 * The payload in this text, with camelCase keys. Only its being a JSON object is checked: a newer or older AgentV may
 * send more or less than the type says, and a judge should not fail over what it never looks at.
 */
export function parseCodeJudgePayload(text: string): CodeJudgePayload {
  const payload = parseJson(text);
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw new TypeError("the payload of a code judge is no JSON object");
  }
  return toCamelCaseDeep(payload, "CodeJudgePayload") as CodeJudgePayload;
}

function parseJson(text: string): unknown {
  if (text.trim() === "") {
    throw new SyntaxError("a code judge reads its payload on stdin, and there was nothing; try `<judge> < payload.json`");
  }
  try {
    // Editors on Windows put a byte order mark in front.
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new SyntaxError("the payload of a code judge is no JSON", { cause: error });
  }
}
