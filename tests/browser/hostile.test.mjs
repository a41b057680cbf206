// Whatever a model, a file or a tool is called or says: on the page it is text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cp } from "node:fs/promises";
import path from "node:path";
import { open, reportOf } from "./browser.mjs";
import { browser, place } from "./stage.mjs";

const PLANTED = [
  "<img src=x onerror=globalThis.planted=1>",
  "</script><script>globalThis.planted=1;alert(1)</script>",
  "<!--<script>globalThis.planted=1</script>-->",
  "<svg onload=globalThis.planted=1><script href=http://127.0.0.1:9/x.js /></svg>",
  "<iframe src=javascript:top.planted=1></iframe><link rel=stylesheet href=http://127.0.0.1:9/x.css>",
  "javascript:globalThis.planted=1//",
  '" onmouseover=globalThis.planted=1 x="',
  "<style>@import 'http://127.0.0.1:9/x.css'</style><base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
  "__proto__",
  "constructor",
  "\u2028</title></style></textarea><b id=planted>\u0000",
];

// Every string of a record is planted with the same text.
function hostile(text, at) {
  const grade = {
    name: text,
    type: text,
    score: 0.5,
    weight: 1,
    verdict: "fail",
    hits: [text],
    misses: [text],
    reasoning: text,
    details: { [text]: text },
    evaluator_provider_request: { prompt: text },
    votes: [{ target: text, score: 0.5, reasoning: text }],
    spread: 0.1,
  };
  return {
    eval_id: text,
    dataset: text,
    target: text,
    tags: [text],
    score: at / 20,
    status: "fail",
    hits: [text],
    misses: [text],
    candidate_answer: text,
    reasoning: text,
    timestamp: text,
    conversation_id: text,
    workspace: text,
    failed_required: [text],
    lm_provider_request: {
      chat_prompt: [{ role: text, content: text }],
      question: text,
      guidelines: text,
      guideline_paths: [text],
    },
    evaluator_results: [
      grade,
      { ...grade, name: `${text}2`, error: { kind: "parse", message: text }, evaluator_results: [grade] },
    ],
    trace_summary: { event_count: 1, tool_names: [text], tool_calls_by_name: { [text]: 1 }, error_count: 0 },
    provider_metadata: { [text]: text },
    file_changes: {
      files: [{ path: text, old_path: text, status: "renamed", additions: 1, deletions: 1 }],
      diff: `diff --git a/${text} b/${text}\n--- a/${text}\n+++ b/${text}\n@@ -1 +1 @@\n-${text}\n+${text}\n`,
    },
    ...(at % 2 === 0 ? { error: text } : {}),
  };
}

// Opens everything that can be opened, and looks whether anything of it ran.
async function rummage(url) {
  const { page, seen } = await open(browser, url);
  const list = page.locator(".rows .row");
  for (let at = 0; at < (await list.count()); at += 1) {
    await list.nth(at).click();
    await page.evaluate(() =>
      document.querySelectorAll("#case details").forEach((details) => {
        details.open = true;
      }),
    );
    await page.locator("#case").hover();
    await page.keyboard.press("Escape");
  }
  await page.locator(".tables").hover();
  for (const select of await page.locator("select").all()) await select.selectOption({ index: 1 });
  assert.equal(
    await page.evaluate(() => (globalThis.planted instanceof Element ? "element" : globalThis.planted)),
    undefined,
  );
  assert.equal(await page.evaluate(() => ({}).polluted), undefined);
  assert.equal(
    await page
      .locator(
        "#page img, #page iframe, #page script, #case img, #case iframe, #case script, link, base, meta[http-equiv=refresh], #planted",
      )
      .count(),
    0,
  );
  assert.deepEqual(seen, { errors: [], requests: [], dialogs: 0 });
  await page.close();
}

test("nothing in a record runs or leaves the page", async () => {
  await rummage(await reportOf(place, PLANTED.map(hostile), "hostile"));
});

test("nor does anything in the address", async () => {
  const url = await reportOf(place, PLANTED.map(hostile), "address");
  for (const text of PLANTED) {
    const { page, seen } = await open(
      browser,
      `${url}#q=${encodeURIComponent(text)}&case=${encodeURIComponent(text)}&${encodeURIComponent(text)}=x&__proto__=1&sort=${encodeURIComponent(text)}`,
    );
    assert.equal(await page.evaluate(() => globalThis.planted), undefined);
    assert.deepEqual(seen, { errors: [], requests: [], dialogs: 0 });
    await page.close();
  }
});

test("nor do file names, tools and what they said in a real run", async () => {
  const [image, script] = PLANTED;
  const answer = {
    text: image,
    output_messages: [
      {
        role: image,
        name: image,
        content: [{ type: image, value: script }],
        tool_calls: [{ tool: script, input: { [image]: script }, output: script, duration_ms: 1 }],
      },
      { role: "assistant", content: script },
    ],
  };
  await place.write("answer.json", JSON.stringify(answer));
  await place.write(
    "targets.yaml",
    JSON.stringify({
      targets: [
        { name: image, provider: "cli", command_template: `cat '${path.join(place.dir, "answer.json")}' # {PROMPT}` },
      ],
    }),
  );
  const name = "<img src=x onerror=planted=1>.eval.yaml";
  await place.write(
    name,
    JSON.stringify({
      evalcases: [
        {
          id: script,
          expected_outcome: image,
          input: script,
          evaluators: [{ name: image, type: "contains", value: "nowhere" }],
        },
      ],
    }),
  );
  await place.agentv("eval", name, "--target", image, "--report", "html=run.html");
  await cp(path.join(place.dir, "run.html"), path.join(place.dir, "<img src=x onerror=planted=1>.html"));
  await rummage(place.url("<img src=x onerror=planted=1>.html"));
});
