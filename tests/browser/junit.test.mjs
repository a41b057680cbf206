// What CI systems make of the JUnit report: the common schema holds, and a program of others reads it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "junit2json";
import { sampleReport, workplace } from "./browser.mjs";

const SCHEMA = path.join(path.dirname(fileURLToPath(import.meta.url)), "junit.xsd");

let place;
before(async () => {
  place = await workplace();
  await sampleReport(place);
  await place.agentv("report", "results.jsonl", "--junit", "junit.xml");
});
after(() => place?.remove());

const check = (file) =>
  execFileSync("xmllint", ["--noout", "--schema", SCHEMA, file], { cwd: place.dir, stdio: "pipe" });

test("the common schema holds", () => {
  check("junit.xml");
});

test("the schema is no rubber stamp", async () => {
  const text = await readFile(path.join(place.dir, "junit.xml"), "utf8");
  for (const [what, wrong] of [
    ["a test without a name", text.replace(/<testcase name="[^"]*"/, "<testcase")],
    ["a count that is no number", text.replace(/tests="\d+"/, 'tests="many"')],
    ["an unknown element", text.replace("<testcase ", "<verdict/><testcase ")],
    ["a failure outside of a test", text.replace("</testsuite>", "<failure/></testsuite>")],
  ]) {
    await place.write("wrong.xml", wrong);
    assert.throws(() => check("wrong.xml"), /fails to validate/, what);
  }
});

test("another program reads the same numbers", async () => {
  const read = await parse(await readFile(path.join(place.dir, "junit.xml"), "utf8"));
  assert.deepEqual([read.tests, read.failures, read.errors], [14, 5, 3]);
  assert.deepEqual(
    read.testsuite.map((suite) => [suite.name, suite.tests]),
    [
      ["support.eval.yaml · careful", 7],
      ["support.eval.yaml · hasty", 7],
    ],
  );
  const tests = read.testsuite.flatMap((suite) => suite.testcase);
  assert.equal(tests.length, 14);
  // Errors and ungraded cases are no failures.
  const errors = tests.filter((one) => one.error).map((one) => one.name);
  assert.deepEqual(errors.sort(), ["unknown-order", "vat-invoice", "vat-invoice"]);
  const error = tests.find((one) => one.error && one.name === "unknown-order");
  assert.match(error.error[0].message, /the order service answered 503/);
});
