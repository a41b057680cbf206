/** Code judges and prompt templates in a few lines, and a client to ask models. */
export { z } from "zod";
export { type CodeJudgeHandler, defineCodeJudge } from "./code-judge.js";
export { definePromptTemplate, type PromptTemplateHandler } from "./prompt-template.js";
export * from "./schemas.js";
export {
  createJudgeProxyClient,
  createTargetClient,
  type InvokedMessage,
  type InvokedToolCall,
  type InvokeRequest,
  type InvokeRequest as TargetInvokeRequest,
  type InvokeResponse,
  type InvokeResponse as TargetInvokeResponse,
  type TargetClient,
  type TargetInfo,
  TargetInvocationError,
  TargetNotAvailableError,
} from "./target-client.js";
