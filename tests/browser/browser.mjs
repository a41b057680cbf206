// A browser, and the program under test.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const run = promisify(execFile);
const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");

// The one that is named, else Debian's, else another that is there.
function chromiumPath() {
  const named = process.env.AGENTV_TEST_CHROMIUM;
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const known = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
    folders.map((folder) => path.join(folder, name)),
  );
  const found = named ?? known.find((file) => existsSync(file));
  if (!found) throw new Error("there is no Chromium: install it, or name one in AGENTV_TEST_CHROMIUM");
  return found;
}

function program() {
  const target = path.resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
  const given = process.env.AGENTV_TEST_BINARY ?? path.join(target, "debug/agentv");
  if (!existsSync(given))
    throw new Error(`${given} is not there: build it with \`cargo build\`, or name it in AGENTV_TEST_BINARY`);
  return given;
}

export async function launch() {
  // As root, as in many containers, Chromium has no sandbox to offer.
  return chromium.launch({ executablePath: chromiumPath(), args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

// A directory of its own, and how to run the program there.
export async function workplace() {
  const dir = await mkdtemp(path.join(tmpdir(), "agentv-browser-"));
  const { GITHUB_ACTIONS: _, GITHUB_STEP_SUMMARY: __, ...env } = process.env;
  return {
    dir,
    agentv: (...args) => run(program(), args, { cwd: dir, env, maxBuffer: 1 << 28 }),
    write: (name, text) => writeFile(path.join(dir, name), text),
    url: (name) => pathToFileURL(path.join(dir, name)).href,
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

// A report of these records. Each needs no more than an id.
export async function reportOf(place, records, name = "results") {
  const whole = records.map((record) =>
    JSON.stringify({
      timestamp: "2026-01-01T00:00:00.000Z",
      dataset: "suite",
      score: 1,
      status: "pass",
      hits: [],
      misses: [],
      candidate_answer: "ok",
      target: "default",
      ...record,
    }),
  );
  await place.write(`${name}.jsonl`, `${whole.join("\n")}\n`);
  await place.agentv("report", `${name}.jsonl`, "--html", `${name}.html`);
  return place.url(`${name}.html`);
}

// The report of a real run: two versions of a support agent, tools, judges, a diff, an error.
export async function sampleReport(place) {
  await cp(path.join(here, "sample"), place.dir, { recursive: true });
  // Errors are part of the sample, so the exit code is not 0.
  await place.agentv(
    "eval",
    "support.eval.yaml",
    "--target",
    "careful",
    "--target",
    "hasty",
    "--workers",
    "4",
    "--allow-errors",
    "--out",
    "results.jsonl",
    "--report",
    "html=report.html",
  );
  return place.url("report.html");
}

// Opens a page that must not complain, and tells what it asked the network for.
export async function open(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce", ...options });
  const seen = { errors: [], requests: [], dialogs: 0 };
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()));
  page.on("dialog", (dialog) => {
    seen.dialogs += 1;
    dialog.dismiss();
  });
  await page.route("**/*", (route) => {
    if (route.request().url().split("#")[0] !== url.split("#")[0]) seen.requests.push(route.request().url());
    route.continue();
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]", { timeout: 10000 }).catch((error) => {
    throw new Error(`the page did not start: ${seen.errors.slice(0, 3).join("; ")}`, { cause: error });
  });
  return { page, seen };
}
