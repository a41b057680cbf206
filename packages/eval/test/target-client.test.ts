import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import {
  createJudgeProxyClient,
  createTargetClient,
  type TargetClient,
  type TargetInfo,
  TargetInvocationError,
  TargetNotAvailableError,
} from "@agentv/eval";
import { ANSWER, INFO, type Reply, startStubProxy, type StubProxy } from "./stub-proxy.js";

const FACTORIES = [
  ["createTargetClient", createTargetClient, "TARGET"],
  ["createJudgeProxyClient", createJudgeProxyClient, "JUDGE"],
] as const;

afterEach(() => {
  for (const [, , generation] of FACTORIES) setProxy(generation, undefined, undefined);
});

function setProxy(generation: string, url: string | undefined, token: string | undefined): void {
  for (const [name, value] of [["URL", url], ["TOKEN", token]] as const) {
    if (value === undefined) delete process.env[`AGENTV_${generation}_PROXY_${name}`];
    else process.env[`AGENTV_${generation}_PROXY_${name}`] = value;
  }
}

/** A stub, and a client that talks to it. */
async function connect(reply?: () => Reply): Promise<{ proxy: StubProxy; client: TargetClient }> {
  const proxy = await startStubProxy(reply);
  setProxy("TARGET", `${proxy.url}/`, "secret");
  const client = createTargetClient();
  assert.ok(client);
  return { proxy, client };
}

for (const [name, create, generation] of FACTORIES) {
  test(`S006 S150: info from ${name} is typed and lists the available targets`, async () => {
    await using proxy = await startStubProxy();
    setProxy(generation, proxy.url, "secret");
    const info: TargetInfo | undefined = await create()?.getInfo();
    assert.deepEqual(info, INFO);
    assert.deepEqual(proxy.asked, [{ method: "GET", path: "/info", authorization: "Bearer secret", body: undefined }]);
  });

  test(`S007 S151: ${name} hands the chosen target on`, async () => {
    await using proxy = await startStubProxy();
    setProxy(generation, proxy.url, "secret");
    assert.deepEqual(await create()?.invoke({ question: "?", target: "other" }), ANSWER);
    const body = { question: "?", target: "other" };
    assert.deepEqual(proxy.asked, [{ method: "POST", path: "/invoke", authorization: "Bearer secret", body }]);
  });

  test(`${name} without a proxy, and with half of one`, () => {
    assert.equal(create(), undefined);
    setProxy(generation, "http://127.0.0.1:9", undefined);
    assert.throws(create, (error) => error instanceof TargetNotAvailableError && /_TOKEN is not/.test(error.message));
  });
}

test("a request carries what is set and nothing else", async () => {
  const { proxy, client } = await connect();
  await using _ = proxy;
  const request = { question: "?", systemPrompt: "s", evalCaseId: "c", attempt: 2 };
  await client.invoke(request);
  assert.deepEqual(proxy.asked[0]?.body, request);
});

test("a batch goes out as one request", async () => {
  const { proxy, client } = await connect();
  await using _ = proxy;
  const requests = [{ question: "a" }, { question: "b", target: "other" }];
  assert.deepEqual(await client.invokeBatch(requests), [ANSWER, ANSWER]);
  assert.deepEqual(proxy.asked.map((one) => [one.path, one.body]), [["/invokeBatch", { requests }]]);
});

for (const [status, body, message] of [
  [429, '{"error": "Max calls exceeded (limit: 1)"}', "Max calls exceeded (limit: 1)"],
  [500, '{"error": {"nested": true}}', "HTTP 500"],
  [502, "<html>", "HTTP 502"],
  [200, "no JSON", "HTTP 200 without JSON"],
] as const) {
  test(`a refusal is an error with its status: ${message}`, async () => {
    const { proxy, client } = await connect(() => ({ status, body }));
    await using _ = proxy;
    await assert.rejects(client.invoke({ question: "?" }), (error) => {
      assert.ok(error instanceof TargetInvocationError);
      assert.deepEqual([error.name, error.message, error.statusCode], ["TargetInvocationError", message, status]);
      return true;
    });
  });
}
