/** Contextual recall: how much of the reference answer is in what the search found? */
import { defineCodeJudge } from "@agentv/eval";
import { retrievedNodes } from "./retrieval.js";
import { ask } from "./verdicts.js";

defineCodeJudge(async (input) => {
  const items = sentences(input.referenceAnswer ?? "");
  const task = `Can the item be attributed to one of these texts? ${JSON.stringify(retrievedNodes(input))}`;
  const verdicts = await ask(input, { task, items });
  const found = items.filter((_, index) => verdicts[index]);
  return {
    score: items.length === 0 ? 0 : found.length / items.length,
    hits: found.map((item) => `found: ${item}`),
    misses: items.filter((_, index) => !verdicts[index]).map((item) => `not found: ${item}`),
    details: { verdicts },
  };
});

function sentences(text: string): string[] {
  return text.split(/(?<=[.!?])\s+/).filter((sentence) => sentence.trim() !== "");
}
