/** A code judge from one function. */
import { failWith, keepStdoutClean, messageOf, problems, readInput } from "./input.js";
import { type CodeJudgeInput, type CodeJudgeResult, CodeJudgeResultSchema } from "./schemas.js";

/** Grades one answer. */
export type CodeJudgeHandler = (input: CodeJudgeInput) => CodeJudgeResult | Promise<CodeJudgeResult>;

/**
 * Makes this script a judge: reads stdin, calls the handler, prints its verdict. Every failure is a verdict of zero that
 * says why, and exit code 1, which AgentV records as a grading error and not as a bad answer. The score is printed as the
 * handler gives it.
 */
export function defineCodeJudge(handler: CodeJudgeHandler): void {
  keepStdoutClean();
  // The text is made inside of the chain, so that details that are not JSON fail like everything else.
  const text = judge(handler).then((verdict) => `${JSON.stringify(verdict, null, 2)}\n`);
  void text.then(
    (text) => process.stdout.write(text),
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
  const parsed = CodeJudgeResultSchema.safeParse(await handler(await readInput()));
  if (!parsed.success) {
    throw new TypeError(`the verdict is not as expected: ${problems(parsed.error)}`);
  }
  return parsed.data;
}
