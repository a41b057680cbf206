/**
 * Contextual precision: does the search rank what is relevant before what is not?
 *
 * The mean, over the relevant nodes, of the precision at each one's rank: 1 when all relevant nodes come first.
 */
import { defineCodeJudge } from "@agentv/eval";
import { retrievedNodes } from "./retrieval.js";
import { ask } from "./verdicts.js";

defineCodeJudge(async (input) => {
  const items = retrievedNodes(input);
  const task = `Is the item relevant to the question "${input.question}"?`;
  const verdicts = await ask(input, { task, items });
  return {
    score: precision(verdicts),
    hits: items.filter((_, index) => verdicts[index]).map((item) => `relevant: ${item}`),
    misses: items.filter((_, index) => !verdicts[index]).map((item) => `not relevant: ${item}`),
    details: { verdicts },
  };
});

function precision(verdicts: readonly boolean[]): number {
  let relevant = 0;
  let sum = 0;
  verdicts.forEach((verdict, index) => {
    if (verdict) {
      relevant += 1;
      sum += relevant / (index + 1);
    }
  });
  return relevant === 0 ? 0 : sum / relevant;
}
