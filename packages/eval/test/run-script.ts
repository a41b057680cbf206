/** Runs a fixture as AgentV would: a process of its own, with JSON on stdin. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Runtime = "node" | "bun";

export const RUNTIMES: readonly Runtime[] = ["node", "bun"];

export const PAYLOAD = {
  question: "What is the capital of France?",
  expected_outcome: "Names the capital",
  expected_messages: [],
  reference_answer: "Paris",
  candidate_answer: "It is Paris.",
  output_messages: [{ role: "developer", content: 7, tool_calls: [{ tool: "look_up", input: { place_name: "France" } }] }],
  guideline_files: [],
  input_files: [],
  input_messages: [{ role: "user", content: "What is the capital of France?" }],
  changed_files: [{ path: "new.py", status: "renamed", old_path: "old.py", additions: 0, deletions: 0 }],
  trace_summary: null,
  candidate_trace: null,
  config: { max_items: 3 },
  key_of_a_newer_agentv: true,
};

/** Node runs what the compiler made of the fixture; bun runs the source. */
export async function runScript(runtime: Runtime, name: string, stdin: string, env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const [program, script] =
    runtime === "node"
      ? [process.execPath, fromHere(`fixtures/${name}.js`)]
      : [fromHere("../../../node_modules/.bin/bun"), fromHere(`../test/fixtures/${name}.ts`)];
  const child = spawn(program, [script], { env: { PATH: process.env["PATH"], ...env } });
  child.stdin.end(stdin);
  const closed = new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}
