// The report of a real run, as its readers use it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { before, describe, test } from "node:test";
import { open, reportOf, sampleReport } from "./browser.mjs";
import { browser, place } from "./stage.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let url;
before(async () => {
  url = await sampleReport(place);
});

const rows = (page) => page.locator(".rows .row");
const ids = async (page) => rows(page).locator(".id b").allTextContents();
const title = (page) => page.locator("#case h2");
const hash = (page) => page.evaluate(() => location.hash);

// Does something on a fresh page, which must run without complaint and ask the network for nothing.
async function visit(address, act, options) {
  const { page, seen } = await open(browser, address, options);
  await act(page, seen);
  assert.deepEqual(seen, { errors: [], requests: [], dialogs: 0 });
  await page.close();
}

// Every interval of the numbers is on the page.
async function checkIntervals(page) {
  const { summary } = await page.evaluate(() => JSON.parse(document.getElementById("report").textContent));
  const text = await page.locator("#overview").innerText();
  const ends = ({ low, high }, write) => [low, high].map(write);
  const score = (end) => end.toFixed(3);
  const percent = (end) => `${(end * 100).toFixed(1)} %`;
  const pass = (summary.trials ?? []).flatMap((totals) => totals.pass);
  const cells = [
    ...[...Object.values(summary.targets), ...Object.values(summary.evaluators)].map((totals) => totals.mean_interval),
    ...pass.flatMap((of) => [of.pass_at_k_interval, of.pass_hat_k_interval]),
  ].filter((interval) => interval !== undefined);
  assert.notEqual(cells.length, 0);
  for (const words of [
    `95 % interval ${ends(summary.pass_interval, percent).join(" to ")}`,
    `95 % interval ${ends(summary.mean_interval, score).join(" to ")}`,
    ...cells.map((interval) => ends(interval, score).join("–")),
  ]) {
    assert.ok(text.includes(words), `${words} is not in ${text}`);
  }
}

describe("the overview", () => {
  test("says how the run went", () =>
    visit(url, async (page) => {
      const text = await page.locator("#overview").innerText();
      for (const words of [
        "8 cases did not pass",
        "6 passed",
        "5 failed",
        "2 ungraded",
        "1 error",
        "of 11 graded cases",
        "0.630",
        "$0.0495",
        "17.6k",
        "careful",
        "hasty",
        "looked-it-up",
        "agentv eval support.eval.yaml --target careful",
      ]) {
        assert.ok(text.includes(words), `${words} is not in ${text}`);
      }
      const run = await page.evaluate(() => JSON.parse(document.getElementById("report").textContent).run.run);
      assert.equal(await page.title(), `AgentV report: ${run}`);
    }));

  test("has an interval for every mean and rate", () => visit(url, checkIntervals));

  test("leads to the cases that it counts", () =>
    visit(url, async (page) => {
      await page.locator(".histogram [role=button]").first().click();
      assert.equal(await rows(page).count(), 3);
      await page.locator(".legend").getByRole("button", { name: "failed" }).click();
      assert.equal(await rows(page).count(), 3);
      await page.getByRole("button", { name: "Clear" }).click();
      await page.locator(".tables").getByRole("button", { name: "hasty" }).click();
      assert.equal(await rows(page).count(), 7);
    }));
});

describe("the table", () => {
  test("lists every case, the urgent ones first", () =>
    visit(url, async (page) => {
      assert.equal(await rows(page).count(), 14);
      assert.equal((await ids(page))[0], "unknown-order");
      assert.match(await rows(page).first().innerText(), /the order service answered 503/);
    }));

  test("is sorted by its heads, both ways", () =>
    visit(url, async (page) => {
      const sort = (name) => page.getByRole("button", { name: `Sort by ${name}` }).click();
      // What was not graded has no score.
      const scores = async () =>
        (await rows(page).locator(".score span:first-child").allTextContents()).filter((text) => text).map(Number);
      await sort("score");
      const up = await scores();
      assert.deepEqual(
        up,
        [...up].sort((one, other) => one - other),
      );
      assert.equal(await page.locator("[aria-sort=ascending]").innerText(), "Score");
      await sort("score");
      assert.deepEqual(await scores(), [...up].reverse());
      await sort("case");
      assert.deepEqual(await ids(page), [...(await ids(page))].sort());
      await sort("cost");
      assert.equal(await rows(page).last().locator(".cost").textContent(), "–");
    }));

  test("is filtered by text, status, target, tag and evaluator", () =>
    visit(url, async (page) => {
      const search = page.getByRole("searchbox");
      await search.fill("REFUND careful");
      assert.deepEqual(await ids(page), ["refund-window"]);
      await search.fill("");
      await page.getByRole("group", { name: "Status" }).getByRole("button", { name: "Failed" }).click();
      assert.equal(await rows(page).count(), 5);
      await page.getByRole("group", { name: "Status" }).getByRole("button", { name: "Ungraded" }).click();
      await page.getByLabel("Any target").selectOption("careful");
      assert.deepEqual(await ids(page), ["vat-invoice"]);
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByLabel("Any tag").selectOption("smoke");
      assert.equal(await rows(page).count(), 4);
      await page.getByLabel("Any evaluator").selectOption("panel");
      assert.equal(await page.locator(".tally").textContent(), "2 of 14");
      // The score is that of the evaluator then.
      assert.deepEqual(await rows(page).locator(".score span:first-child").allTextContents(), ["0.800", "0.800"]);
      await search.fill("nothing is like this");
      assert.ok(await page.getByText("No case is like this").isVisible());
      await page.getByRole("button", { name: "Show all" }).click();
      assert.equal(await rows(page).count(), 14);
    }));

  test("keeps what was chosen in the address", () =>
    visit(url, async (page) => {
      await page.getByRole("searchbox").fill("order");
      await page.getByLabel("Any target").selectOption("hasty");
      await page.getByRole("button", { name: "Sort by score" }).click();
      await rows(page).first().click();
      const [address, shown, name] = [await hash(page), await ids(page), await title(page).textContent()];
      await visit(url + address, async (again) => {
        assert.deepEqual(await ids(again), shown);
        assert.equal(await title(again).textContent(), name);
        assert.equal(await again.getByRole("searchbox").inputValue(), "order");
      });
    }));
});

describe("a case", () => {
  const openCase = async (page, target, id) => {
    await page.getByLabel("Any target").selectOption(target);
    await rows(page).filter({ hasText: id }).click();
    return page.locator("#case");
  };

  test("shows prompt, answer, expectation, steps and gradings", () =>
    visit(url, async (page) => {
      const shown = await openCase(page, "careful", "refund-window");
      const text = await shown.innerText();
      for (const words of [
        "Can I still send it back?",
        "You are the support agent",
        "Your lamp was delivered",
        "how the refund is paid",
        "you have 30 days from delivery",
        "search_orders called 1 time",
        "kind-judge",
        "0.800",
        "support.eval.yaml:9",
        "3 tool calls",
      ]) {
        assert.ok(text.includes(words), `${words} is not in ${text}`);
      }
      assert.deepEqual(await shown.locator(".tool-name").allTextContents(), [
        "search_orders",
        "read_policy",
        "create_label",
      ]);
      assert.deepEqual(await shown.locator(".tool .time").allTextContents(), ["182 ms", "41 ms", "640 ms"]);
      await shown.locator("summary", { hasText: "create_label" }).click();
      assert.ok(await shown.getByText('"label": "R-4711-1"').isVisible());
    }));

  test("shows a diff in colours", () =>
    visit(url, async (page) => {
      const shown = await openCase(page, "hasty", "fix-the-price");
      assert.deepEqual(await shown.locator(".files code").allTextContents(), ["prices.py", "test_prices.py"]);
      assert.match(await shown.locator(".diff .added").first().textContent(), /^\+ {4}"desk-lamp": 49.90,/);
      assert.match(await shown.locator(".diff .removed").first().textContent(), /^- {4}"desk-lamp": 94.90,/);
    }));

  test("tells an error of the target from one of a grader", () =>
    visit(url, async (page) => {
      const failed = await openCase(page, "hasty", "unknown-order");
      assert.match(await failed.locator(".alarm").first().innerText(), /the order service answered 503/);
      await page.keyboard.press("Escape");
      const ungraded = await openCase(page, "careful", "vat-invoice");
      assert.match(await ungraded.locator(".grade.error").innerText(), /could not grade[^]*gave no valid JSON/);
    }));

  test("can be copied and run again", () =>
    visit(
      url,
      async (page) => {
        const shown = await openCase(page, "careful", "order-status");
        assert.equal(
          await shown.locator(".command code").textContent(),
          "agentv eval support.eval.yaml --eval-id order-status --target careful",
        );
        await shown.getByRole("button", { name: "Copy command" }).click();
        await page.getByText("Command copied").waitFor();
        assert.equal(
          await page.evaluate(() => navigator.clipboard.readText()),
          "agentv eval support.eval.yaml --eval-id order-status --target careful",
        );
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));

  test("has its trials together", async () => {
    const trial = (number, score, more = {}) => ({
      eval_id: "flip",
      trial: number,
      score,
      status: score === 1 ? "pass" : "fail",
      candidate_answer: `answer ${number}`,
      ...more,
    });
    const address = await reportOf(
      place,
      [trial(2, 1), trial(0, 1), trial(1, 0), { eval_id: "steady", trial: 0 }, { eval_id: "steady", trial: 1 }],
      "trials",
    );
    await visit(address, async (page) => {
      assert.equal(await rows(page).count(), 2);
      assert.match(await rows(page).first().innerText(), /flip[^]*2\/3 trials[^]*0\.667/);
      assert.match(await page.locator(".legend").innerText(), /1 flaky/);
      await checkIntervals(page);
      // Only one of the two cases has three trials.
      const card = page.getByRole("region", { name: "Trials" });
      assert.match(await card.innerText(), /pass@k[^]*\n3\s+1 of 2\s+1\.000/);
      await rows(page).first().click();
      // The one that went wrong is shown first, though it is the second.
      const trials = page.getByRole("group", { name: "Trials" });
      assert.match(await trials.innerText(), /Trial 1 1\.000[^]*Trial 2 0\.000[^]*Trial 3 1\.000/);
      assert.ok(await page.locator("#case").getByText("answer 1").isVisible());
      assert.match(await page.locator("#case .badge").first().textContent(), /Failed/);
      await trials.getByRole("button", { name: "Trial 3" }).click();
      assert.ok(await page.locator("#case").getByText("answer 2").isVisible());
    });
  });
});

describe("keys", () => {
  test("walk through the cases", () =>
    visit(url, async (page) => {
      const order = await ids(page);
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      assert.equal(await title(page).textContent(), order[1]);
      await page.keyboard.press("j");
      assert.equal(await title(page).textContent(), order[2]);
      await page.keyboard.press("k");
      await page.keyboard.press("k");
      assert.equal(await title(page).textContent(), order[0]);
      await page.keyboard.press("Escape");
      assert.ok(await page.locator("#case").isHidden());
      // The table has the focus again, and goes on where it was.
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      assert.equal(await title(page).textContent(), order[1]);
    }));

  test("search, clear, help and theme", () =>
    visit(
      url,
      async (page) => {
        await page.keyboard.press("/");
        await page.keyboard.type("refund");
        assert.equal(await rows(page).count(), 2);
        await page.keyboard.press("Enter");
        await page.keyboard.press("Enter");
        assert.equal(await title(page).textContent(), "refund-window");
        await page.keyboard.press("Escape");
        await page.keyboard.press("Escape");
        assert.equal(await rows(page).count(), 14);
        await page.keyboard.press("?");
        assert.ok(await page.getByRole("dialog").getByText("next and previous case").isVisible());
        await page.keyboard.press("Escape");
        assert.equal(await page.getByRole("dialog").count(), 0);
        const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await back();
        await page.keyboard.press("t");
        assert.notEqual(await back(), light);
        await page.reload();
        assert.notEqual(await back(), light);
      },
      { colorScheme: "light" },
    ));
});

test("light and dark follow the system", async () => {
  const seen = [];
  for (const colorScheme of ["light", "dark"]) {
    await visit(
      url,
      async (page) => seen.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)),
      { colorScheme },
    );
  }
  assert.deepEqual(seen, ["rgb(247, 247, 248)", "rgb(13, 14, 17)"]);
});

describe("accessibility", () => {
  // axe's own eval is not what the page allows, so it comes from outside.
  const findings = async (page) => {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map((node) => `${node.html} ${node.failureSummary ?? ""}`)
            .join(" | ")}`,
      );
  };
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1360, 420]) {
      test(`no serious findings, ${colorScheme}, ${width} wide`, () =>
        visit(
          url,
          async (page) => {
            assert.deepEqual(await findings(page), []);
            for (const [target, id] of [
              ["careful", "refund-window"],
              ["hasty", "fix-the-price"],
              ["hasty", "unknown-order"],
              ["careful", "vat-invoice"],
            ]) {
              await page.getByLabel("Any target").selectOption(target);
              await rows(page).filter({ hasText: id }).click();
              await page.evaluate(() =>
                document.querySelectorAll("#case details").forEach((details) => {
                  details.open = true;
                }),
              );
              assert.deepEqual(await findings(page), [], id);
              await page.keyboard.press("Escape");
            }
            await page.keyboard.press("?");
            assert.deepEqual(await findings(page), []);
          },
          { colorScheme, viewport: { width, height: 900 } },
        ));
    }
  }
});
