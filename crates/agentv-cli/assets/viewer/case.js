// One case in depth.
import { count, millis, moment, money, score, tokens } from "./formats.js";
import { asText, badge, copy, copyButton, el, fold, meter, OUTCOMES, pretty, textBlock } from "./dom.js";
import { detail, groups, isGraded, report } from "./data.js";
import { change, onChange, state } from "./state.js";
import { activate, focusTable, positionOf, step } from "./table.js";
import { fileChanges, stepsOf, timeline, toolTally } from "./timeline.js";

export function showCases(place) {
  const update = (before) => {
    const group = groups[Number(state.case)];
    if (state.case === "" || group === undefined) return close(place);
    if (before && before.case === state.case && before.trial === state.trial) return undefined;
    return open(place, group, before);
  };
  onChange(update);
  update();
}

export function copyId() {
  const group = groups[Number(state.case)];
  if (state.case !== "" && group) copy(group.id, "Id");
}

// Where the page was before a case was opened, and which case was open last.
const earlier = { scroll: 0, place: -1 };

function close(place) {
  if (place.hidden) return;
  place.hidden = true;
  document.body.classList.remove("case-open");
  document.getElementById("page").inert = false;
  scrollTo(0, earlier.scroll);
  activate(earlier.place);
  focusTable();
}

function open(place, group, before) {
  const trial =
    group.rows.find((row) => String(report.columns.trial[row]) === state.trial) ??
    group.rows.find((row) => report.columns.outcome[row] !== 0) ??
    group.rows[0];
  const content = detail(trial);
  place.replaceChildren(head(group, trial, content), body(group, trial, content));
  if (place.hidden) earlier.scroll = scrollY;
  place.hidden = false;
  document.body.classList.add("case-open");
  // Where the case covers everything, nothing behind it is to be reached.
  document.getElementById("page").inert = matchMedia("(max-width: 900px)").matches;
  activate(group.place);
  earlier.place = group.place;
  const isNew = before === undefined || before.case !== state.case;
  place.querySelector(isNew ? "h2" : '[aria-current="true"]')?.focus({ preventScroll: true });
}

function head(group, row, { record, rerun, place }) {
  const { at, of } = positionOf(group.place);
  const button = (label, text, action, isOff) =>
    el(
      "button",
      { type: "button", class: "icon", "aria-label": label, title: label, disabled: isOff, onclick: action },
      text,
    );
  return el(
    "header",
    { class: "case-head" },
    el(
      "div",
      { class: "case-bar" },
      badge(report.columns.outcome[row]),
      el("span", { class: "muted" }, at < 0 ? "" : `${at + 1} of ${of}`),
      el("span", { class: "space" }),
      button("Previous case (k)", "↑", () => step(-1), at <= 0),
      button("Next case (j)", "↓", () => step(1), at < 0 || at + 1 >= of),
      button("Close (Esc)", "✕", () => change({ case: "", trial: "" })),
    ),
    el("div", { class: "case-title" }, el("h2", { tabindex: -1 }, group.id), copyButton(group.id, "Id")),
    el(
      "p",
      { class: "case-line" },
      el("span", {}, group.target),
      group.dataset && el("span", { class: "muted" }, group.dataset),
      place && el("span", { class: "muted" }, place.line ? `${place.file}:${place.line}` : place.file),
      record.simulated && el("span", { class: "chip", title: "Answer of a mock target or a dry run" }, "simulated"),
      group.tags.map((tag) => el("span", { class: "chip tag" }, tag)),
    ),
    group.rows.length > 1 && trials(group, row),
    figures(record, row),
    rerun && el("div", { class: "command" }, el("code", { tabindex: 0 }, rerun), copyButton(rerun, "Command")),
  );
}

function trials(group, chosen) {
  const { outcome, trial, score: scores } = report.columns;
  return el(
    "div",
    { class: "segments trials", role: "group", "aria-label": "Trials" },
    group.rows.map((row, at) =>
      el(
        "button",
        {
          type: "button",
          "aria-pressed": String(row === chosen),
          "aria-current": row === chosen ? "true" : undefined,
          onclick: () => change({ trial: String(trial[row]) }),
        },
        el("i", { class: `dot ${OUTCOMES[outcome[row]].key}`, "aria-hidden": "true" }),
        `Trial ${(trial[row] ?? at) + 1} `,
        el("span", {}, isGraded(outcome[row]) ? score(scores[row]) : "–"),
      ),
    ),
  );
}

function figures(record, row) {
  const metrics = record.execution_metrics ?? {};
  const { cost, outcome, score: scores, tokens: used } = report.columns;
  const facts = [["Score", isGraded(outcome[row]) ? score(scores[row]) : "–"]];
  if (metrics.duration_ms !== undefined) facts.push(["Time", millis(metrics.duration_ms)]);
  if (used[row] !== null) facts.push(["Tokens", tokens(used[row])]);
  if (cost[row] !== null) facts.push(["Cost", money(cost[row])]);
  if (record.timestamp) facts.push(["Graded", moment(record.timestamp)]);
  return el(
    "dl",
    { class: "case-figures" },
    facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

function body(group, row, { record, expected, steps }) {
  const list = stepsOf(steps);
  const did = list.some((one) => one.kind !== "message") || list.length > 1;
  return el(
    "div",
    { class: "case-body" },
    record.error && section("Error", el("div", { class: "alarm" }, textBlock(record.error))),
    record.failed_required?.length > 0 &&
      el("p", { class: "alarm" }, `Required and not met: ${record.failed_required.join(", ")}`),
    gradesSection(record),
    promptSection(record),
    (!record.error || record.candidate_answer !== `Error occurred: ${record.error}`) &&
      section(
        "Answer",
        record.candidate_answer ? textBlock(pretty(record.candidate_answer)) : el("p", { class: "muted" }, "empty"),
        record.candidate_answer,
      ),
    expected &&
      (expected.outcome || expected.answer) &&
      section("Expected", [
        expected.outcome && textBlock(expected.outcome),
        expected.answer && [el("h4", {}, "Reference answer"), textBlock(pretty(expected.answer))],
      ]),
    did
      ? section(
          `What it did`,
          timeline(list),
          null,
          count(list.filter((one) => one.kind === "tool").length, "tool call", "tool calls"),
        )
      : toolsSection(record),
    record.file_changes &&
      section(
        "File changes",
        fileChanges(record.file_changes),
        null,
        count(record.file_changes.files?.length ?? 0, "file", "files"),
      ),
    restSection(record),
  );
}

function section(title, content, toCopy, remark) {
  return el(
    "section",
    {},
    el("h3", {}, title, remark && el("small", {}, remark), toCopy && copyButton(toCopy, title)),
    content,
  );
}

function toolsSection(record) {
  const tally = toolTally(record.trace_summary);
  return (
    tally &&
    section("Tools", [
      tally,
      el(
        "p",
        { class: "muted" },
        "Inputs and outputs are kept in the run's folder, which this report was not made of.",
      ),
    ])
  );
}

function promptSection(record) {
  const asked = record.agent_provider_request ?? record.lm_provider_request;
  if (!asked) return null;
  const content = [];
  for (const message of asked.chat_prompt ?? []) {
    content.push(
      el("div", { class: "chat" }, el("span", { class: "role" }, message.role), textBlock(asText(message.content))),
    );
  }
  if (asked.question) content.push(textBlock(asked.question));
  if (asked.guidelines) content.push(fold("Guidelines", textBlock(asked.guidelines)));
  if (asked.guideline_paths?.length > 0)
    content.push(fold("Files of guidelines", textBlock(asked.guideline_paths.join("\n"))));
  return content.length > 0 && section("Prompt", content, asked.question);
}

function gradesSection(record) {
  const grades = record.evaluator_results ?? [];
  const asked = record.evaluator_provider_request;
  if (grades.length === 0) {
    const found = [
      ...points(record),
      record.reasoning && el("p", { class: "reasoning" }, record.reasoning),
      asked !== undefined && fold("What the grader was asked", textBlock(asText(asked), "code")),
    ];
    return found.some(Boolean) && section("Grading", found);
  }
  return section("Evaluators", grades.map(grade), null, count(grades.length, "evaluator", "evaluators"));
}

function grade(result) {
  const kind = result.error
    ? "error"
    : result.verdict === "pass"
      ? "pass"
      : result.verdict === "borderline"
        ? "middle"
        : "fail";
  const weight =
    result.weight === undefined || result.weight === 1
      ? null
      : el("span", { class: "muted" }, `weight ${result.weight}`);
  return el(
    "article",
    { class: `grade ${kind}` },
    el(
      "header",
      {},
      el("b", {}, result.name),
      el("span", { class: "chip" }, result.type),
      weight,
      el("span", { class: "space" }),
      result.error
        ? el("span", { class: "badge error" }, "! could not grade")
        : [meter(result.score, kind), el("b", { class: "figure" }, score(result.score))],
    ),
    result.error && el("div", { class: "alarm" }, el("b", {}, result.error.kind), textBlock(result.error.message)),
    points(result),
    result.reasoning && !result.error && el("p", { class: "reasoning" }, result.reasoning),
    result.votes && votes(result),
    (result.evaluator_results ?? []).length > 0 && el("div", { class: "members" }, result.evaluator_results.map(grade)),
    result.usage?.cost_usd !== undefined && el("p", { class: "muted" }, `Grading cost ${money(result.usage.cost_usd)}`),
    result.details !== undefined && fold("Details", textBlock(asText(result.details), "code")),
    result.evaluator_provider_request !== undefined &&
      fold("What the grader was asked", textBlock(asText(result.evaluator_provider_request), "code")),
  );
}

function points({ hits, misses }) {
  const list = (texts, kind, mark) =>
    (texts ?? []).length > 0 &&
    el(
      "ul",
      { class: `points ${kind}` },
      texts.map((text) =>
        el("li", {}, el("span", { class: "mark", "aria-hidden": "true" }, mark), el("span", {}, text)),
      ),
    );
  return [list(misses, "fail", "✕"), list(hits, "pass", "✓")];
}

function votes(result) {
  const spread = result.spread === undefined ? "" : `Votes lie ${score(result.spread)} apart`;
  return fold(
    `Votes of ${count(result.votes.length, "judge", "judges")}`,
    el(
      "div",
      {},
      el("p", { class: "muted" }, spread),
      result.votes.map((vote) =>
        el(
          "div",
          { class: "vote" },
          el(
            "header",
            {},
            el("b", {}, vote.target),
            el("span", { class: "space" }),
            vote.error ? el("span", { class: "badge error" }, "no vote") : score(vote.score ?? 0),
          ),
          el("p", { class: "reasoning" }, vote.error ? vote.error.message : (vote.reasoning ?? "")),
        ),
      ),
    ),
    true,
  );
}

function restSection(record) {
  const rest = {};
  for (const key of ["conversation_id", "workspace", "trace_summary", "execution_metrics", "provider_metadata"]) {
    if (record[key] !== undefined) rest[key] = record[key];
  }
  return el("section", {}, fold("More of the record", textBlock(asText(rest), "code")));
}
