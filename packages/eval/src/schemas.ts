/**
 * What judges are given and give back, checked at run time. The input is checked loosely, as 2.x judges rely on: roles
 * and contents are passed on whatever they are, keys that are not listed are dropped.
 */
import { z } from "zod";

const OwnDataSchema = z.record(z.string(), z.unknown());
/** 2.x sent neither traces nor metrics, and payloads that are piped in by hand lack most keys. */
const ListSchema = z.array(z.string()).default([]);

export const TokenUsageSchema = z.object({
  input: z.number(),
  output: z.number(),
  cached: z.number().nullish(),
});

export const TraceSummarySchema = z.object({
  eventCount: z.number(),
  toolNames: z.array(z.string()),
  toolCallsByName: z.record(z.string(), z.number()),
  errorCount: z.number(),
  tokenUsage: TokenUsageSchema.nullish(),
  costUsd: z.number().nullish(),
  durationMs: z.number().nullish(),
  toolDurations: z.record(z.string(), z.array(z.number())).optional(),
});

export const ToolCallSchema = z.object({
  tool: z.string(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  id: z.string().nullish(),
  timestamp: z.string().nullish(),
  durationMs: z.number().nullish(),
});

export const MessageSchema = z.object({
  /** `assistant`, `user`, `system` or `tool`; agents have others too. */
  role: z.string(),
  name: z.string().nullish(),
  /** Text, or whatever structure the agent uses. */
  content: z.unknown().optional(),
  toolCalls: z.array(ToolCallSchema).nullish(),
  timestamp: z.string().nullish(),
  durationMs: z.number().nullish(),
  metadata: OwnDataSchema.nullish(),
});

export const TraceEventSchema = z.object({
  /** `model_step`, `tool_call`, `tool_result`, `message` or `error`. */
  type: z.string(),
  timestamp: z.string().nullish(),
  id: z.string().nullish(),
  /** The name of the tool. */
  name: z.string().nullish(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  text: z.string().nullish(),
  metadata: OwnDataSchema.nullish(),
});

export const ExecutionMetricsSchema = z.object({
  tokenUsage: TokenUsageSchema.nullish(),
  costUsd: z.number().nullish(),
  durationMs: z.number().nullish(),
  toolDurations: z.record(z.string(), z.array(z.number())).optional(),
  explorationRatio: z.number().nullish(),
  tokensPerTool: z.number().nullish(),
  avgToolDurationMs: z.number().nullish(),
});

export const FileChangeSchema = z.object({
  /** From the workspace, with `/` between its parts. */
  path: z.string(),
  status: z.enum(["added", "modified", "deleted", "renamed"]),
  oldPath: z.string().nullish(),
  binary: z.boolean().optional(),
  additions: z.number(),
  deletions: z.number(),
});

export const CodeJudgeInputSchema = z.object({
  question: z.string(),
  expectedOutcome: z.string(),
  expectedMessages: z.array(MessageSchema).default([]),
  referenceAnswer: z.string().optional(),
  candidateAnswer: z.string(),
  outputMessages: z.array(MessageSchema).nullish(),
  guidelineFiles: ListSchema,
  inputFiles: ListSchema,
  inputMessages: z.array(MessageSchema).default([]),
  traceSummary: TraceSummarySchema.nullish(),
  /** @deprecated Use `outputMessages`. `null` when the answer was only text. */
  candidateTrace: z.array(TraceEventSchema).nullish(),
  /** `null` when the answer was only text. */
  candidateTraceSummary: TraceSummarySchema.nullish(),
  executionMetrics: ExecutionMetricsSchema.optional(),
  providerMetadata: OwnDataSchema.optional(),
  /** What the agent changed in its workspace, as a unified diff. Absent where there is none. */
  fileChanges: z.string().nullish(),
  /** The diff was longer than 1 MiB and ends early. */
  fileChangesTruncated: z.boolean().optional(),
  changedFiles: z.array(FileChangeSchema).nullish(),
  /** Where the agent's files are until the case is graded: tests may run there. */
  workspacePath: z.string().nullish(),
  /** The keys of the evaluator that AgentV does not know, as written. */
  config: OwnDataSchema.nullish(),
});

export const CodeJudgeResultSchema = z.object({
  /** From 0 to 1. AgentV checks the range, so that scores out of 100 are noticed and not cut off. */
  score: z.number(),
  hits: ListSchema,
  misses: ListSchema,
  reasoning: z.string().nullish(),
  /** An object or an array. Kept in the record, untouched. */
  details: z.union([OwnDataSchema, z.array(z.unknown())]).nullish(),
});

/** Prompt templates get what judges get. */
export const PromptTemplateInputSchema = CodeJudgeInputSchema;

export type TokenUsage = z.infer<typeof TokenUsageSchema>;
export type TraceSummary = z.infer<typeof TraceSummarySchema>;
export type ToolCall = z.infer<typeof ToolCallSchema>;
export type Message = z.infer<typeof MessageSchema>;
export type ExecutionMetrics = z.infer<typeof ExecutionMetricsSchema>;
export type TraceEvent = z.infer<typeof TraceEventSchema>;
export type FileChange = z.infer<typeof FileChangeSchema>;
export type CodeJudgeInput = z.infer<typeof CodeJudgeInputSchema>;
/** As a handler returns it: the lists may be left out. */
export type CodeJudgeResult = z.input<typeof CodeJudgeResultSchema>;
export type PromptTemplateInput = z.infer<typeof PromptTemplateInputSchema>;
