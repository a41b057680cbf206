// Written by `npm run generate` from `schemas/`; do not edit.

/**
 * What an event is about.
 */
export type TraceEventType = "model_step" | "tool_call" | "tool_result" | "message" | "error";
/**
 * What became of a file.
 */
export type FileStatus = "added" | "modified" | "deleted" | "renamed";

/**
 * The whole of a judge's input: one JSON object, then the end of the file.
 */
export interface CodeJudgePayload {
  /**
   * The text of the input messages, joined by spaces.
   */
  question: string;
  expectedOutcome: string;
  expectedMessages: OutputMessage[];
  /**
   * `""` when there is none.
   */
  referenceAnswer: string;
  candidateAnswer: string;
  /**
   * `null` when the answer came with a trace instead.
   */
  outputMessages: OutputMessage[] | null;
  /**
   * Absolute paths.
   */
  guidelineFiles: string[];
  /**
   * Absolute paths, without the guidelines.
   */
  inputFiles: string[];
  /**
   * As written in the eval file, aliases expanded.
   */
  inputMessages: OutputMessage[];
  traceSummary: TraceSummary | null;
  /**
   * @deprecated
   * Use `outputMessages` instead. `null` when the answer was only text.
   */
  candidateTrace: TraceEvent[] | null;
  /**
   * `null` when the answer was only text.
   */
  candidateTraceSummary: TraceSummary | null;
  executionMetrics: ExecutionMetrics;
  providerMetadata?: {
    [k: string]: unknown;
  };
  /**
   * What the agent changed in its workspace, as a unified diff; `""` if it changed nothing. Absent where there is none.
   */
  fileChanges?: string | null;
  /**
   * The diff was longer than 1 MiB and ends early, after a whole line.
   */
  fileChangesTruncated?: boolean;
  /**
   * The files that `fileChanges` is about, at most 1000. Absent where there is no workspace.
   */
  changedFiles?: FileChange[] | null;
  /**
   * The agent's workspace, absolute. It is there until the case is graded, and a judge may run programs in it.
   */
  workspacePath?: string | null;
  /**
   * The keys of the evaluator that AgentV does not know, as written.
   */
  config: {
    [k: string]: unknown;
  } | null;
}
/**
 * One message of the answer.
 */
export interface OutputMessage {
  /**
   * `assistant`, `user`, `system` or `tool`; others are passed on.
   */
  role: string;
  name?: string | null;
  /**
   * Text, or whatever structure the agent uses.
   */
  content?: unknown;
  toolCalls?: ToolCall[] | null;
  /**
   * ISO 8601.
   */
  timestamp?: string | null;
  durationMs?: number | null;
  metadata?: {
    [k: string]: unknown;
  } | null;
}
/**
 * One use of a tool.
 */
export interface ToolCall {
  /**
   * The tool's name, as the agent spells it.
   */
  tool: string;
  input?: unknown;
  output?: unknown;
  id?: string | null;
  /**
   * ISO 8601.
   */
  timestamp?: string | null;
  durationMs?: number | null;
}
/**
 * The trace in numbers.
 */
export interface TraceSummary {
  eventCount: number;
  /**
   * Distinct, sorted.
   */
  toolNames: string[];
  /**
   * Tool names are kept as the agent spells them.
   */
  toolCallsByName: {
    [k: string]: number;
  };
  errorCount: number;
  tokenUsage?: TokenUsage | null;
  costUsd?: number | null;
  durationMs?: number | null;
  toolDurations?: {
    [k: string]: number[];
  };
}
/**
 * Tokens, as the provider counts them.
 */
export interface TokenUsage {
  /**
   * Of the prompt, those from a cache included.
   */
  input: number;
  /**
   * Of the answer, thoughts included.
   */
  output: number;
  /**
   * Tokens read from a cache.
   */
  cached?: number | null;
}
/**
 * One event. Order is the order of the list; a timestamp is never used to sort.
 */
export interface TraceEvent {
  type: TraceEventType;
  /**
   * ISO 8601.
   */
  timestamp?: string | null;
  /**
   * Which of several it is: a result has the id of its call.
   */
  id?: string | null;
  /**
   * The name of the tool.
   */
  name?: string | null;
  /**
   * What the tool was given.
   */
  input?: unknown;
  /**
   * What the tool gave back.
   */
  output?: unknown;
  /**
   * What was said.
   */
  text?: string | null;
  /**
   * More facts, copied to the record.
   */
  metadata?: {
    [k: string]: unknown;
  } | null;
}
/**
 * What is known of a run's cost; the last three are computed from the others and the trace.
 */
export interface ExecutionMetrics {
  tokenUsage?: TokenUsage | null;
  costUsd?: number | null;
  durationMs?: number | null;
  /**
   * Per tool, the milliseconds of each call that reported them, in order.
   */
  toolDurations?: {
    [k: string]: number[];
  };
  /**
   * Calls of exploring tools over all tool calls, in `[0, 1]`.
   */
  explorationRatio?: number | null;
  /**
   * Output tokens per tool call.
   */
  tokensPerTool?: number | null;
  /**
   * Mean over all reported tool durations.
   */
  avgToolDurationMs?: number | null;
}
/**
 * One file that is not what it was.
 */
export interface FileChange {
  /**
   * From the workspace, with `/` between its parts.
   */
  path: string;
  status: FileStatus;
  /**
   * Where a renamed file was before.
   */
  oldPath?: string | null;
  /**
   * Its contents are no text, so the diff only names it.
   */
  binary?: boolean;
  /**
   * Lines.
   */
  additions: number;
  /**
   * Lines.
   */
  deletions: number;
}

/**
 * What a judge prints: one JSON object and nothing else.
 */
export interface CodeJudgeOutput {
  /**
   * From 0 to 1. Anything else is a grading error.
   */
  score: number;
  hits?: string[];
  misses?: string[];
  reasoning?: string | null;
  /**
   * An object or an array. Kept in the record, untouched.
   */
  details?:
    | (
        | {
            [k: string]: unknown;
          }
        | unknown[]
      )
    | null;
}

/** Per object, its keys on the wire: how TypeScript spells each, and which object is inside. */
export const WIRE_KEYS = {
  CodeJudgePayload: {
    question: ["question"],
    expected_outcome: ["expectedOutcome"],
    expected_messages: ["expectedMessages", "OutputMessage"],
    reference_answer: ["referenceAnswer"],
    candidate_answer: ["candidateAnswer"],
    output_messages: ["outputMessages", "OutputMessage"],
    guideline_files: ["guidelineFiles"],
    input_files: ["inputFiles"],
    input_messages: ["inputMessages", "OutputMessage"],
    trace_summary: ["traceSummary", "TraceSummary"],
    candidate_trace: ["candidateTrace", "TraceEvent"],
    candidate_trace_summary: ["candidateTraceSummary", "TraceSummary"],
    execution_metrics: ["executionMetrics", "ExecutionMetrics"],
    provider_metadata: ["providerMetadata"],
    file_changes: ["fileChanges"],
    file_changes_truncated: ["fileChangesTruncated"],
    changed_files: ["changedFiles", "FileChange"],
    workspace_path: ["workspacePath"],
    config: ["config"],
  },
  OutputMessage: {
    role: ["role"],
    name: ["name"],
    content: ["content"],
    tool_calls: ["toolCalls", "ToolCall"],
    timestamp: ["timestamp"],
    duration_ms: ["durationMs"],
    metadata: ["metadata"],
  },
  ToolCall: {
    tool: ["tool"],
    input: ["input"],
    output: ["output"],
    id: ["id"],
    timestamp: ["timestamp"],
    duration_ms: ["durationMs"],
  },
  TraceSummary: {
    event_count: ["eventCount"],
    tool_names: ["toolNames"],
    tool_calls_by_name: ["toolCallsByName"],
    error_count: ["errorCount"],
    token_usage: ["tokenUsage", "TokenUsage"],
    cost_usd: ["costUsd"],
    duration_ms: ["durationMs"],
    tool_durations: ["toolDurations"],
  },
  TokenUsage: {
    input: ["input"],
    output: ["output"],
    cached: ["cached"],
  },
  TraceEvent: {
    type: ["type"],
    timestamp: ["timestamp"],
    id: ["id"],
    name: ["name"],
    input: ["input"],
    output: ["output"],
    text: ["text"],
    metadata: ["metadata"],
  },
  ExecutionMetrics: {
    token_usage: ["tokenUsage", "TokenUsage"],
    cost_usd: ["costUsd"],
    duration_ms: ["durationMs"],
    tool_durations: ["toolDurations"],
    exploration_ratio: ["explorationRatio"],
    tokens_per_tool: ["tokensPerTool"],
    avg_tool_duration_ms: ["avgToolDurationMs"],
  },
  FileChange: {
    path: ["path"],
    status: ["status"],
    old_path: ["oldPath"],
    binary: ["binary"],
    additions: ["additions"],
    deletions: ["deletions"],
  },
  CodeJudgeOutput: {
    score: ["score"],
    hits: ["hits"],
    misses: ["misses"],
    reasoning: ["reasoning"],
    details: ["details"],
  },
} as const;
