/** A stand-in for AgentV's proxy: real HTTP on loopback, which keeps what it is asked and answers as it is told. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface StubProxy extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
}

export const INFO = { targetName: "judge", maxCalls: 50, callCount: 3, availableTargets: ["judge", "other"] };
export const ANSWER = { outputMessages: [{ role: "assistant", content: "yes" }], rawText: "yes" };

/** Answers as AgentV does, or as the function says. */
export async function startStubProxy(reply: (asked: Asked) => Reply = usual): Promise<StubProxy> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void read(request).then((one) => {
      asked.push(one);
      const { status, body } = reply(one);
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function read(request: IncomingMessage): Promise<Asked> {
  const { method, url, headers } = request;
  const body = await text(request);
  return { method, path: url, authorization: headers.authorization, body: body === "" ? undefined : JSON.parse(body) };
}

function usual(asked: Asked): Reply {
  const count = (asked.body as { requests?: unknown[] } | undefined)?.requests?.length ?? 0;
  const answers: Record<string, unknown> = {
    "/info": INFO,
    "/invoke": ANSWER,
    "/invokeBatch": { responses: Array.from({ length: count }, () => ANSWER) },
  };
  return { status: 200, body: JSON.stringify(answers[asked.path ?? ""]) };
}
