/** Asking models through the proxy that AgentV opens for a judge with `target: true`. The judge sees no key of a model. */

/** One question for a model. */
export interface InvokeRequest {
  readonly question: string;
  readonly systemPrompt?: string;
  readonly evalCaseId?: string;
  readonly attempt?: number;
  /** A target by name, instead of the default one. */
  readonly target?: string;
}

/** A tool that the model used. */
export interface InvokedToolCall {
  readonly tool: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly id?: string;
  readonly timestamp?: string;
  readonly durationMs?: number;
}

/** What the model said or did. */
export interface InvokedMessage {
  readonly role: string;
  readonly name?: string;
  readonly content?: unknown;
  readonly toolCalls?: readonly InvokedToolCall[];
  readonly timestamp?: string;
  readonly durationMs?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The answer to one question. */
export interface InvokeResponse {
  readonly outputMessages: readonly InvokedMessage[];
  /** What the assistant said last. In a batch, `Error: …` where one question failed. */
  readonly rawText?: string;
}

/** Who answers, and how often they may still be asked. */
export interface TargetInfo {
  readonly targetName: string;
  readonly maxCalls: number;
  readonly callCount: number;
  readonly availableTargets: readonly string[];
}

export interface TargetClient {
  /** Asks one question. Throws {@link TargetInvocationError} when it is refused or the model fails. */
  invoke(request: InvokeRequest): Promise<InvokeResponse>;
  /** Asks several; the answers come in the same order. */
  invokeBatch(requests: readonly InvokeRequest[]): Promise<InvokeResponse[]>;
  /** Costs no call. */
  getInfo(): Promise<TargetInfo>;
}

/** The proxy's address is there, but not what lets the script in. */
export class TargetNotAvailableError extends Error {
  override readonly name = "TargetNotAvailableError";
}

/** The proxy or the model behind it said no. */
export class TargetInvocationError extends Error {
  override readonly name = "TargetInvocationError";
  /** Of HTTP: 400 for a wrong request or target, 429 when `max_calls` are used up, 500 when the model failed. */
  readonly statusCode: number;

  constructor(message: string, statusCode: number) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** A client, or `undefined` where the evaluator did not ask for a proxy. */
export function createTargetClient(): TargetClient | undefined {
  return fromEnvironment("AGENTV_TARGET_PROXY_URL", "AGENTV_TARGET_PROXY_TOKEN");
}

/** The same under the name of earlier editions. */
export function createJudgeProxyClient(): TargetClient | undefined {
  return fromEnvironment("AGENTV_JUDGE_PROXY_URL", "AGENTV_JUDGE_PROXY_TOKEN");
}

function fromEnvironment(urlName: string, tokenName: string): TargetClient | undefined {
  const url = process.env[urlName];
  const token = process.env[tokenName];
  if (!url) {
    return undefined;
  }
  if (!token) {
    throw new TargetNotAvailableError(`${urlName} is set, but ${tokenName} is not`);
  }
  return connect(url, token);
}

function connect(url: string, token: string): TargetClient {
  const base = url.replace(/\/+$/, "");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = (path: string, body: unknown): Promise<unknown> =>
    exchange(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return {
    invoke: async (request) => (await post("/invoke", request)) as InvokeResponse,
    invokeBatch: async (requests) => ((await post("/invokeBatch", { requests })) as { responses: InvokeResponse[] }).responses,
    getInfo: async () => (await exchange(`${base}/info`, { headers })) as TargetInfo,
  };
}

async function exchange(url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    throw new TargetInvocationError(errorIn(body) ?? `HTTP ${response.status}`, response.status);
  }
  if (body === undefined) {
    throw new TargetInvocationError(`HTTP ${response.status} without JSON`, response.status);
  }
  return body;
}

function errorIn(body: unknown): string | undefined {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  return typeof error === "string" ? error : undefined;
}
