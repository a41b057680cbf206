// How quick the report of 10 000 records is: `node tests/browser/bench.mjs [--write]`. With --write, the figures go to
// docs/benchmarks.md. AGENTV_TEST_BINARY names the program to be measured; the page itself does not depend on it.
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { launch, workplace } from "./browser.mjs";
import { largeReport, timedVisit } from "./large.mjs";

const RECORDS = 10000;
const ROUNDS = 9;
const PAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/benchmarks.md");
const SECTION = "\n## The HTML report\n";

const place = await workplace();
const browser = await launch();
const figures = { load: [], filter: [], worst: [], sort: [], open: [] };
let size;
let writing;
try {
  const url = await largeReport(place, RECORDS);
  size = (await stat(path.join(place.dir, "large.html"))).size;
  const start = performance.now();
  await place.agentv("report", "large.jsonl", "--html", "large.html");
  writing = performance.now() - start;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { load, filters, sort, open } = await timedVisit(browser, url);
    figures.load.push(load);
    figures.filter.push(median(filters));
    figures.worst.push(Math.max(...filters));
    figures.sort.push(sort);
    figures.open.push(open);
  }
} finally {
  await browser.close();
  await place.remove();
}

const version = browser.version();
const limits = { load: 1000, filter: 100, worst: 100, sort: 100, open: 100 };
const names = {
  load: "from the start to the table on the screen",
  filter: "filter: a letter typed, the rows on the screen",
  worst: "the slowest of those",
  sort: "sort by another column",
  open: "open a case",
};
const rows = Object.entries(figures).map(
  ([key, times]) =>
    `| ${names[key]} | ${median(times).toFixed(0)} ms | ${limits[key]} ms | ${median(times) <= limits[key] ? "ok" : "**over**"} |`,
);
const section = `${SECTION}
Made by \`node tests/browser/bench.mjs --write\`: ${RECORDS} records with three evaluators each, a page of
${(size / 1e6).toFixed(1)} MB, in Chromium ${version} without a screen, medians of ${ROUNDS} visits.

| figure | measured | limit | |
| --- | ---: | ---: | --- |
${rows.join("\n")}
`;
console.log(section);
console.log(`written in ${writing.toFixed(0)} ms by the program under test`);
if (process.argv.includes("--write")) {
  const old = await readFile(PAGE, "utf8");
  const at = old.indexOf(SECTION);
  await writeFile(PAGE, (at < 0 ? old : old.slice(0, at)) + section);
}

function median(times) {
  const sorted = [...times].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}
