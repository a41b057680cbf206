// The run at a glance.
import { count, millis, moment, money, percent, score, tokens } from "./formats.js";
import { copyButton, el, meter, svg } from "./dom.js";
import { groups, report } from "./data.js";
import { change, state } from "./state.js";

export function showOverview(place) {
  const { summary } = report;
  place.replaceChildren(
    el("div", { class: "cards" }, verdictCard(summary), scoreCard(summary), numbersCard(summary)),
    el("div", { class: "tables" }, targetsCard(summary), evaluatorsCard(summary), trialsCard(summary)),
    runCard(),
  );
}

export function titleOf() {
  const files = (report.run?.files ?? []).filter((file) => file.kind === "eval").map((file) => file.path);
  if (files.length === 0) return report.results;
  return files.length <= 2 ? files.join(", ") : `${files[0]} and ${files.length - 1} more`;
}

function verdictCard(summary) {
  const { recorded, passed, failed, ungraded, errors } = summary;
  const flaky = (summary.trials ?? []).reduce((sum, trials) => sum + trials.flaky, 0);
  const isTrials = recorded > groups.length;
  const isGood = recorded > 0 && passed === recorded;
  const unlucky = count(recorded - passed, isTrials ? "trial" : "case", isTrials ? "trials" : "cases");
  const words = recorded === 0 ? "No results" : isGood ? "All passed" : `${unlucky} did not pass`;
  const missing = summary.not_run ?? 0;
  return el(
    "article",
    { class: "card verdict" },
    ring(summary, isGood, isTrials ? "% of trials" : "% passed"),
    el(
      "div",
      { class: "verdict-words" },
      el("h2", { class: isGood ? "pass" : "fail" }, words),
      summary.pass_interval && el("small", {}, `pass rate: ${between(summary.pass_interval, percent)}`),
      el(
        "div",
        { class: "split", "aria-hidden": "true" },
        share(passed, "pass"),
        share(failed, "fail"),
        share(ungraded, "ungraded"),
        share(errors, "error"),
      ),
      el(
        "ul",
        { class: "legend" },
        legend("pass", passed, "passed"),
        legend("fail", failed, "failed"),
        legend("ungraded", ungraded, "ungraded"),
        legend("error", errors, errors === 1 ? "error" : "errors"),
        flaky > 0 && legend("flaky", flaky, flaky === 1 ? "flaky case" : "flaky cases"),
        missing > 0 && el("li", { class: "muted" }, `${missing} not run`),
      ),
    ),
  );
}

function ring(summary, isGood, unit) {
  const share = summary.pass_rate ?? 0;
  const range = between(summary.pass_interval, percent);
  const label = `Pass rate ${percent(share)}${range === null ? "" : `, ${range}`}`;
  const around = 2 * Math.PI * 42;
  return svg(
    "svg",
    { class: "ring", viewBox: "0 0 100 100", role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("circle", { class: "track", cx: 50, cy: 50, r: 42 }),
    svg("circle", {
      class: isGood ? "arc pass" : "arc fail",
      cx: 50,
      cy: 50,
      r: 42,
      "stroke-dasharray": `${share * around} ${around}`,
      transform: "rotate(-90 50 50)",
    }),
    svg("text", { x: 50, y: 47, class: "ring-value" }, percent(share).replace(/\.0 %| %/, "")),
    svg("text", { x: 50, y: 67, class: "ring-unit" }, unit),
  );
}

function share(number, kind) {
  const piece = el("i", { class: kind });
  piece.style.flexGrow = String(number);
  piece.hidden = number === 0;
  return piece;
}

function legend(kind, number, word) {
  const isChosen = state.status === kind;
  return el(
    "li",
    {},
    el(
      "button",
      {
        type: "button",
        class: "plain",
        disabled: number === 0,
        onclick: () => change({ status: isChosen ? "" : kind }),
      },
      el("i", { class: `dot ${kind}`, "aria-hidden": "true" }),
      el("b", {}, String(number)),
      ` ${word}`,
    ),
  );
}

function scoreCard(summary) {
  return el(
    "article",
    { class: "card" },
    el(
      "header",
      {},
      el("h2", {}, "Mean score"),
      summary.graded < summary.recorded && el("small", {}, `of ${count(summary.graded, "graded case", "graded cases")}`),
      el("b", { class: "figure" }, summary.mean_score === undefined ? "–" : score(summary.mean_score)),
    ),
    el("small", {}, between(summary.mean_interval, score)),
    histogram(summary.histogram),
  );
}

// Ten bars, each of which shows its cases when it is chosen.
function histogram(bins) {
  const most = Math.max(1, ...bins);
  const chart = svg("svg", {
    class: "histogram",
    viewBox: "0 0 320 112",
    role: "group",
    "aria-label": "Distribution of scores",
  });
  bins.forEach((number, bin) => {
    const height = number === 0 ? 1.5 : Math.max(4, (number / most) * 78);
    const label = `${count(number, "case", "cases")} with a score from ${bin / 10} to ${(bin + 1) / 10}`;
    const kind = bin === 9 ? "pass" : bin >= 6 ? "middle" : "fail";
    const bar = svg(
      "g",
      { class: "bar", tabindex: number === 0 ? undefined : 0, role: number === 0 ? undefined : "button" },
      svg("title", {}, label),
      svg("rect", { class: "reach", x: bin * 32, y: 0, width: 32, height: 92 }),
      svg("rect", { class: number === 0 ? "none" : kind, x: bin * 32 + 3, y: 92 - height, width: 26, height, rx: 3 }),
      number > 0 &&
        svg("text", { x: bin * 32 + 16, y: 86 - height, class: "bar-number", "aria-hidden": "true" }, String(number)),
    );
    const choose = () => change({ bin: state.bin === String(bin) ? "" : String(bin) });
    if (number > 0) {
      bar.addEventListener("click", choose);
      bar.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          choose();
        }
      });
    }
    chart.append(bar);
  });
  for (const edge of [0, 5, 10]) {
    const anchor = edge === 0 ? "start" : edge === 10 ? "end" : "middle";
    chart.append(svg("text", { x: edge * 32, y: 107, class: "axis", "text-anchor": anchor }, (edge / 10).toFixed(1)));
  }
  return chart;
}

function numbersCard(summary) {
  const usage = summary.token_usage;
  const cost = summary.cost_usd;
  const grading = summary.grading_cost_usd;
  const time = summary.wall_ms ?? summary.duration_ms;
  return el(
    "article",
    { class: "card numbers" },
    cost !== undefined &&
      number("Cost", money(cost), grading === undefined ? null : `${money(grading)} of it for grading`),
    usage &&
      number("Tokens", tokens(usage.input + usage.output), `${tokens(usage.input)} in, ${tokens(usage.output)} out`),
    time !== undefined &&
      number(
        "Time",
        millis(time),
        summary.wall_ms !== undefined && summary.duration_ms !== undefined
          ? `answers ${millis(summary.duration_ms)}`
          : null,
      ),
    number(
      "Grading errors",
      String(summary.grading_errors),
      summary.grading_errors > 0 ? "a grader failed, not the answer" : null,
      summary.grading_errors > 0 ? "error" : "",
    ),
  );
}

function number(title, value, remark, kind = "") {
  return el(
    "div",
    { class: "number" },
    el("h2", {}, title),
    el("b", { class: `figure ${kind}` }, value),
    remark && el("small", {}, remark),
  );
}

function targetsCard(summary) {
  const models = new Map((report.run?.targets ?? []).map((target) => [target.name, target.model ?? target.provider]));
  const targets = Object.entries(summary.targets);
  const hasCost = targets.some(([, target]) => target.cost_usd !== undefined);
  const hasUngraded = summary.ungraded > 0;
  // With every column there is no room for it.
  const hasMeter = !(hasCost && hasUngraded);
  const rows = targets.map(([name, target]) => [
    choice("target", name, models.get(name)),
    el("td", { class: "right", title: between(target.pass_interval, percent) }, `${target.passed}/${target.recorded}`),
    hasMeter && el("td", { class: "wide" }, meter(target.pass_rate ?? 0, "pass")),
    meanCell(target),
    hasUngraded && alarm(target.ungraded, "ungraded"),
    alarm(target.errors, "error"),
    hasCost && el("td", { class: "right" }, target.cost_usd === undefined ? "–" : money(target.cost_usd)),
    el("td", { class: "right" }, target.duration_ms === undefined ? "–" : millis(target.duration_ms / target.timed)),
  ]);
  const meterHead = hasMeter && "";
  const heads = ["Target", "Passed", meterHead, "Mean", hasUngraded && "Ungraded", "Errors", hasCost && "Cost", "Avg. time"];
  return card("Targets", heads, rows);
}

function evaluatorsCard(summary) {
  const evaluators = Object.entries(summary.evaluators);
  if (evaluators.length === 0) return null;
  const rows = evaluators.map(([name, evaluator]) => [
    choice("evaluator", name, evaluator.type),
    el("td", { class: "right" }, `${evaluator.full}/${evaluator.graded}`),
    el(
      "td",
      { class: "wide" },
      meter(
        evaluator.mean_score ?? 0,
        (evaluator.mean_score ?? 0) >= 0.8 ? "pass" : (evaluator.mean_score ?? 0) >= 0.6 ? "middle" : "fail",
      ),
    ),
    meanCell(evaluator),
    alarm(evaluator.errors, "error"),
  ]);
  return card("Evaluators", ["Evaluator", "Full score", "", "Mean", "Errors"], rows);
}

// pass@k and pass^k of each suite on each target whose cases have several trials.
function trialsCard(summary) {
  const trials = summary.trials ?? [];
  if (trials.length === 0) return null;
  const several = trials.length > 1;
  const rows = trials.flatMap((totals) =>
    totals.pass.map((pass) => [
      el("th", { scope: "row" }, String(pass.k), several && el("small", {}, `${totals.dataset} on ${totals.target}`)),
      el("td", { class: "right" }, pass.cases < totals.cases ? `${pass.cases} of ${totals.cases}` : String(totals.cases)),
      estimate(pass.pass_at_k, pass.pass_at_k_interval),
      estimate(pass.pass_hat_k, pass.pass_hat_k_interval),
    ]),
  );
  return card("Trials", ["k", "Cases", "pass@k", "pass^k"], rows);
}

function meanCell(totals) {
  return estimate(totals.mean_score, totals.mean_interval);
}

// A mean in a table, with its interval below it.
function estimate(value, interval) {
  const range = interval && el("small", { class: "range", title: "95 % interval" }, `${score(interval.low)}–${score(interval.high)}`);
  return el("td", { class: "right" }, value === undefined ? "–" : score(value), range);
}

// `95 % interval 0.230 to 0.920`
function between(interval, write) {
  return interval ? `95 % interval ${write(interval.low)} to ${write(interval.high)}` : null;
}

// A number that had better be 0.
function alarm(number, kind) {
  const text = number === 0 ? el("span", { class: "muted" }, "0") : el("b", { class: kind }, String(number));
  return el("td", { class: "right" }, text);
}

function choice(key, name, remark) {
  return el(
    "th",
    { scope: "row" },
    el(
      "button",
      {
        type: "button",
        class: "plain name",
        title: `Only cases of ${name}`,
        onclick: () => change({ [key]: state[key] === name ? "" : name }),
      },
      name === "" ? "–" : name,
    ),
    remark && el("small", {}, remark),
  );
}

function card(title, heads, rows) {
  const head = heads
    .filter((text) => text !== false)
    .map((text, place) =>
      text === "" ? el("td", {}) : el("th", { scope: "col", class: place === 0 ? "" : "right" }, text),
    );
  return el(
    "article",
    { class: "card table-card" },
    el("h2", {}, title),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, head)),
        el(
          "tbody",
          {},
          rows.map((cells) => el("tr", {}, cells)),
        ),
      ),
    ),
  );
}

function runCard() {
  const { run } = report;
  const facts = [];
  const fact = (name, value, toCopy) =>
    value && facts.push(el("div", {}, el("dt", {}, name), el("dd", {}, value, toCopy && copyButton(toCopy, name))));
  if (run) {
    const command = `agentv ${run.command.join(" ")}`;
    fact("Command", el("code", {}, command), command);
    fact("Run", el("code", {}, run.run), run.run);
    fact(
      "Commit",
      run.git && el("code", {}, run.git.commit.slice(0, 12) + (run.git.branch ? ` (${run.git.branch})` : "")),
      run.git?.commit,
    );
    fact("Started", run.started && moment(run.started));
    fact("Ended", run.ended ? `${moment(run.ended)} (${run.ending ?? "complete"})` : "not ended");
  }
  fact("Results", el("code", {}, report.results), report.results);
  const { simulated } = report.summary;
  fact("Simulated", simulated > 0 && `${count(simulated, "answer", "answers")} of a mock target or a dry run`);
  fact("AgentV", report.version);
  return el("dl", { class: "facts" }, facts);
}
