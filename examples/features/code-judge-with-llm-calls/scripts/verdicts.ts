/**
 * Asks a model yes or no about each of several items, in one of two ways: a call per item, which is simple and lets each
 * item be judged without the others in sight; or one prompt for all of them, which costs one call.
 */
import { type CodeJudgeInput, createTargetClient, type TargetClient, z } from "@agentv/eval";

export interface Question {
  /** What is to be decided of every item. */
  readonly task: string;
  readonly items: readonly string[];
}

const VerdictsSchema = z.object({ verdicts: z.array(z.enum(["yes", "no"])) });

/** One verdict per item, in their order. The evaluator's own key `calls` chooses the way. */
export async function ask(input: CodeJudgeInput, question: Question): Promise<boolean[]> {
  const client = createTargetClient();
  if (!client) {
    throw new Error("this judge asks a model: add `target: true` to the evaluator");
  }
  if (question.items.length === 0) {
    return [];
  }
  return input.config?.["calls"] === "single" ? askOnce(client, question) : askForEach(client, question);
}

async function askForEach(client: TargetClient, { task, items }: Question): Promise<boolean[]> {
  const prompts = items.map((item) => ({ question: `${task}\nAnswer with yes or no.\n\nItem 1: ${item}` }));
  const answers = await client.invokeBatch(prompts);
  return answers.map(({ rawText = "" }) => verdictIn(rawText));
}

/** A model that says neither is not taken for a no. */
function verdictIn(text: string): boolean {
  const word = /^\W*(yes|no)\b/i.exec(text)?.[1]?.toLowerCase();
  if (word === undefined) {
    throw new Error(`the model said neither yes nor no: ${text}`);
  }
  return word === "yes";
}

async function askOnce(client: TargetClient, { task, items }: Question): Promise<boolean[]> {
  const list = items.map((item, index) => `Item ${index + 1}: ${item}`).join("\n");
  const form = 'Answer for every item, in order, with JSON alone: {"verdicts": ["yes" or "no", …]}';
  const { rawText = "" } = await client.invoke({ question: `${task}\n${form}\n\n${list}` });
  const { verdicts } = VerdictsSchema.parse(JSON.parse(rawText));
  if (verdicts.length !== items.length) {
    throw new Error(`the model gave ${verdicts.length} verdicts for ${items.length} items`);
  }
  return verdicts.map((verdict) => verdict === "yes");
}
