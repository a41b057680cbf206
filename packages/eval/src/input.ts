/** Stdin and stdout, shared by judges and prompt templates. */
import { parseCodeJudgePayload } from "@agentv/core";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { type CodeJudgeInput, CodeJudgeInputSchema } from "./schemas.js";

/** The checked payload on stdin. */
export async function readInput(): Promise<CodeJudgeInput> {
  const parsed = CodeJudgeInputSchema.safeParse(parseCodeJudgePayload(await text(process.stdin)));
  if (!parsed.success) {
    throw new TypeError(`the payload is not as expected: ${problems(parsed.error)}`);
  }
  return parsed.data;
}

/** What is wrong, in one line. */
export function problems(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`).join("; ");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * From now on `console.log` goes to stderr. Stdout belongs to the one document that AgentV reads, and a forgotten line
 * of debugging there would make it unreadable.
 */
export function keepStdoutClean(): void {
  for (const name of ["log", "info", "debug"] as const) {
    console[name] = console.error;
  }
}

/** Ends the process once all is written; a timer or socket that a failed handler left open does not hold it. */
export function failWith(stream: NodeJS.WriteStream, output: string): void {
  stream.write(output, () => process.exit(1));
}
