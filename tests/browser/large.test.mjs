// Ten thousand records: only what is in sight is there, and everything is found. How long it takes is for bench.mjs to say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "./browser.mjs";
import { largeReport, timedVisit } from "./large.mjs";
import { browser, place } from "./stage.mjs";

test("ten thousand records are one table with few elements", async (t) => {
  const url = await largeReport(place, 10000);
  const { load, filters, sort, open: opened } = await timedVisit(browser, url);
  const told = (time) => `${time.toFixed(0)} ms`;
  t.diagnostic(
    `load ${told(load)}, filter at most ${told(Math.max(...filters))}, sort ${told(sort)}, open a case ${told(opened)}`,
  );
  const { page, seen } = await open(browser, url);
  const rows = page.locator(".rows .row");
  assert.ok((await rows.count()) < 60);
  assert.equal(await page.locator(".grid").getAttribute("aria-rowcount"), "10001");
  await page.getByRole("button", { name: "Sort by case" }).click();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction(() => [...document.querySelectorAll(".rows .id b")].at(-1)?.textContent === "tone-9999");
  assert.ok((await rows.count()) < 60);
  await page.getByRole("searchbox").fill("billing-777");
  assert.deepEqual(await rows.locator(".id b").allTextContents(), ["billing-7772", "billing-7776"]);
  await rows.last().click();
  assert.equal(await page.locator("#case h2").textContent(), "billing-7776");
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").fill("");
  await page.locator(".grid").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#case h2").textContent(), "tone-9999");
  assert.deepEqual(seen, { errors: [], requests: [], dialogs: 0 });
});
