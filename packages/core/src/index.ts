/** What a code judge of AgentV reads and prints, typed. */
export { parseCodeJudgePayload, readCodeJudgePayload } from "./evaluation/code-judge-sdk.js";
export type {
  CodeJudgeOutput,
  CodeJudgePayload,
  ExecutionMetrics,
  OutputMessage,
  TokenUsage,
  ToolCall,
  TraceEvent,
  TraceEventType,
  TraceSummary,
} from "./generated/payload.js";
