// Ten thousand records, as an agent with three evaluators leaves them.
import { reportOf } from "./browser.mjs";

const WORDS =
  "the lamp was delivered on time and the refund is on its way to your card as we have told you before please wait".split(
    " ",
  );

export function manyRecords(number) {
  // Numbers that look random and are the same every time.
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const text = (words) => Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
  return Array.from({ length: number }, (_, at) => {
    const scores = [
      random() < 0.8 ? 1 : 0,
      random() < 0.7 ? 1 : Math.round(random() * 10) / 10,
      random() < 0.9 ? 1 : 0,
    ];
    const score = scores.reduce((one, other) => one + other, 0) / 3;
    return {
      eval_id: `${["billing", "orders", "privacy", "tone"][at % 4]}-${at}`,
      dataset: `suite-${at % 3}`,
      target: ["careful", "hasty"][at % 2],
      tags: [["billing", "orders", "privacy", "tone"][at % 4]],
      score,
      status: score === 1 ? "pass" : "fail",
      misses: score === 1 ? [] : [text(12)],
      candidate_answer: text(120),
      lm_provider_request: { question: text(60), guidelines: "" },
      execution_metrics: {
        duration_ms: Math.round(random() * 9000),
        cost_usd: random() / 100,
        token_usage: { input: 900, output: 200 },
      },
      evaluator_results: scores.map((one, place) => ({
        name: ["correct", "polite", "brief"][place],
        type: "llm_judge",
        score: one,
        weight: 1,
        verdict: one === 1 ? "pass" : "fail",
        hits: one === 1 ? [text(8)] : [],
        misses: one === 1 ? [] : [text(12)],
        reasoning: text(30),
      })),
      ...(random() < 0.01 ? { error: "timed out after 120s", score: 0, status: "fail" } : {}),
    };
  });
}

export function largeReport(place, number) {
  return reportOf(place, manyRecords(number), "large");
}

// One visit, in milliseconds: until the table is on the screen, and for each thing that a reader does.
export async function timedVisit(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
  await page.addInitScript(() => {
    // A frame after the rows are there, they can be seen.
    const look = () => {
      if (document.documentElement?.dataset.ready)
        requestAnimationFrame(() => {
          globalThis.loaded = performance.now();
        });
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(url);
  await page.waitForFunction(() => globalThis.loaded);
  const load = await page.evaluate(() => globalThis.loaded);
  const timed = (act, argument) =>
    page.evaluate(
      async ([kind, given]) => {
        const acts = {
          type: (text) => {
            const input = document.querySelector("input[type=search]");
            input.value = text;
            input.dispatchEvent(new Event("input"));
          },
          click: (selector) => document.querySelector(selector).click(),
        };
        const start = performance.now();
        acts[kind](given);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        return performance.now() - start;
      },
      [act, argument],
    );
  const filters = [];
  for (const text of ["b", "bi", "bil", "billing", "billing-7", "refund wait", "", "zzz", "tone"])
    filters.push(await timed("type", text));
  await timed("type", "");
  const sort = await timed("click", ".head .score button");
  const open = await timed("click", ".rows .row");
  await page.close();
  return { load, filters, sort, open };
}
