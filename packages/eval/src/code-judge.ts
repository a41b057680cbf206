/** A code judge from one function. */
import { failWith, keepStdoutClean, messageOf, problems, readInput } from "./input.js";
import { type CodeJudgeInput, type CodeJudgeResult, CodeJudgeResultSchema } from "./schemas.js";

/** Grades one answer. */
export type CodeJudgeHandler = (input: CodeJudgeInput) => CodeJudgeResult | Promise<CodeJudgeResult>;

/**
 * Makes this script a judge: reads stdin, calls the handler, prints its verdict. Whatever goes wrong is a verdict of
 * zero that says why, and exit code 1, which AgentV records as an error and not as a bad answer.
 */
export function defineCodeJudge(handler: CodeJudgeHandler): void {
  keepStdoutClean();
  void judge(handler).then(
    (verdict) => process.stdout.write(`${JSON.stringify(verdict, null, 2)}\n`),
    (error: unknown) => {
      const message = messageOf(error);
      const verdict = { score: 0, hits: [], misses: [message], reasoning: `Evaluation failed: ${message}` };
      // AgentV shows stderr, and ignores stdout, of a script that failed.
      console.error(message);
      failWith(process.stdout, `${JSON.stringify(verdict, null, 2)}\n`);
    },
  );
}

async function judge(handler: CodeJudgeHandler): Promise<CodeJudgeResult> {
  const result = await handler(await readInput());
  const parsed = CodeJudgeResultSchema.safeParse(clamped(result));
  if (!parsed.success) {
    throw new TypeError(`the verdict is not as expected: ${problems(parsed.error)}`);
  }
  return parsed.data;
}

/** Only finite numbers: NaN is no grade, and the schema says so. */
function clamped(result: unknown): unknown {
  if (typeof result !== "object" || result === null || !("score" in result)) {
    return result;
  }
  const { score } = result;
  return Number.isFinite(score) ? { ...result, score: Math.min(1, Math.max(0, score as number)) } : result;
}
