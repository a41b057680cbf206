/** A prompt for an LLM judge, written by code. */
import { failWith, keepStdoutClean, messageOf, readInput } from "./input.js";
import type { PromptTemplateInput } from "./schemas.js";

/** Writes the prompt for one answer. */
export type PromptTemplateHandler = (input: PromptTemplateInput) => string | Promise<string>;

/** Makes this script a prompt template: reads stdin, calls the handler, prints the prompt as it is. */
export function definePromptTemplate(handler: PromptTemplateHandler): void {
  keepStdoutClean();
  void readInput()
    .then(handler)
    .then(
      (prompt) => process.stdout.write(prompt),
      (error: unknown) => failWith(process.stderr, `${messageOf(error)}\n`),
    );
}
