// All cases: search, filters, sorting. Only the rows in sight are elements, so ten thousand cost as much as thirty.
import { count, millis, money, score, tokens } from "./formats.js";
import { el, meter, OUTCOMES, sign } from "./dom.js";
import { groups, isGraded, report } from "./data.js";
import { change, clearFilters, isFiltered, onChange, state } from "./state.js";

const ROW = 46;
const SPARE = 8;
// Errors first, then ungraded cases, failures, flaky cases, and what passed.
const URGENCY = [4, 2, 1, 0, 3];

const COLUMNS = [
  {
    key: "outcome",
    width: "34px",
    title: "",
    name: "Outcome",
    value: (group) => URGENCY[group.outcome],
    isUp: true,
  },
  { key: "id", width: "minmax(0, 1fr)", title: "Case", value: (group) => group.id, isUp: true },
  { key: "target", width: "minmax(90px, 160px)", title: "Target", value: (group) => group.target, isUp: true },
  { key: "score", width: "132px", title: "Score", value: (group) => shownScore(group), isUp: true },
  { key: "duration", width: "84px", title: "Time", value: (group) => group.duration },
  { key: "tokens", width: "72px", title: "Tokens", value: (group) => group.tokens },
  { key: "cost", width: "84px", title: "Cost", value: (group) => group.cost },
];

const view = {
  list: groups,
  active: -1,
  rows: null,
  grid: null,
  empty: null,
  tally: null,
  search: null,
  controls: {},
  heads: new Map(),
};

export function showTable(place) {
  view.rows = el("div", { role: "rowgroup", class: "rows" });
  view.grid = el(
    "div",
    {
      role: "grid",
      class: `grid ${unused()
        .map((key) => `no-${key}`)
        .join(" ")}`,
      tabindex: 0,
      "aria-label": "Cases",
      onkeydown: gridKey,
    },
    el("div", { role: "rowgroup", class: "head" }, el("div", { role: "row", class: "row" }, COLUMNS.map(headCell))),
    view.rows,
  );
  view.empty = el(
    "p",
    { class: "notice", hidden: true },
    "No case is like this. ",
    el("button", { type: "button", class: "link", onclick: clearFilters }, "Show all"),
  );
  const used = COLUMNS.filter(({ key }) => !unused().includes(key));
  view.grid.style.setProperty("--wide", used.map(({ width }) => width).join(" "));
  place.replaceChildren(toolbar(), view.grid, view.empty);
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later, { passive: true });
  onChange((before) => {
    if (FILTERS.some((key) => before[key] !== state[key])) refresh();
    else if (before.case !== state.case) draw();
  });
  refresh();
}

// Columns that would say nothing.
function unused() {
  const isKnown = (key) => groups.some((group) => group[key] !== null);
  const empty = ["duration", "tokens", "cost"].filter((key) => !isKnown(key));
  return report.names.target.length > 1 ? empty : ["target", ...empty];
}

const FILTERS = ["q", "status", "target", "tag", "evaluator", "bin", "sort", "dir"];

function toolbar() {
  view.search = el("input", {
    type: "search",
    placeholder: "Search cases",
    "aria-label": "Search cases",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => change({ q: view.search.value }),
  });
  view.tally = el("span", { class: "tally", role: "status" });
  const { names } = report;
  return el(
    "div",
    { class: "toolbar" },
    el("label", { class: "search" }, view.search, el("kbd", { "aria-hidden": "true" }, "/")),
    statuses(),
    chooser("target", "Any target", names.target, names.target.length > 1),
    chooser("tag", "Any tag", names.tag, names.tag.length > 0),
    chooser("evaluator", "Any evaluator", names.evaluator, names.evaluator.length > 1),
    el("button", { type: "button", class: "clear", onclick: clearFilters }, "Clear"),
    view.tally,
  );
}

function statuses() {
  const numbers = OUTCOMES.map((_, outcome) => groups.filter((group) => group.outcome === outcome).length);
  const option = (key, word, number) => {
    const button = el(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => change({ status: key }) },
      key !== "" && el("i", { class: `dot ${key}`, "aria-hidden": "true" }),
      `${word} `,
      el("span", {}, String(number)),
    );
    view.controls[`status-${key}`] = button;
    return button;
  };
  return el(
    "div",
    { class: "segments", role: "group", "aria-label": "Status" },
    option("", "All", groups.length),
    OUTCOMES.map(
      ({ key, word }, outcome) =>
        numbers[outcome] > 0 && option(key, key === "error" ? "Errors" : word, numbers[outcome]),
    ),
  );
}

function chooser(key, none, names, isUseful) {
  if (!isUseful) return null;
  const select = el(
    "select",
    { "aria-label": none, onchange: () => change({ [key]: select.value }) },
    el("option", { value: "" }, none),
    [...names].sort().map((name) => el("option", { value: name }, name)),
  );
  view.controls[key] = select;
  return select;
}

function headCell(column) {
  const { key, title, name, isUp } = column;
  const sort = () => {
    const isSame = state.sort === key;
    change({ sort: key, dir: isSame ? (state.dir === "down" ? "up" : "down") : "down" });
  };
  const button = el(
    "button",
    { type: "button", onclick: sort, "aria-label": `Sort by ${(name ?? title).toLowerCase()}` },
    title,
    el("i", { "aria-hidden": "true" }),
  );
  const cell = el("div", { role: "columnheader", class: `cell ${key}` }, button);
  view.heads.set(key, { cell, isUp });
  return cell;
}

// Filters and sorts anew.
function refresh() {
  if (view.search.value !== state.q) view.search.value = state.q;
  for (const key of ["target", "tag", "evaluator"]) if (view.controls[key]) view.controls[key].value = state[key];
  for (const key of ["", ...OUTCOMES.map((outcome) => outcome.key)])
    view.controls[`status-${key}`]?.setAttribute("aria-pressed", String(state.status === key));
  for (const [key, { cell, isUp }] of view.heads) {
    const isAscending = (state.dir === "down") === Boolean(isUp);
    cell.setAttribute("aria-sort", state.sort === key ? (isAscending ? "ascending" : "descending") : "none");
  }
  const active = view.list[view.active];
  const words = state.q.toLowerCase().split(/\s+/);
  view.list = ordered().filter((group) => isWanted(group, words));
  view.active = active ? view.list.indexOf(active) : -1;
  document.body.classList.toggle("filtered", isFiltered());
  view.tally.textContent =
    view.list.length === groups.length
      ? count(groups.length, "case", "cases")
      : `${view.list.length} of ${groups.length}`;
  view.grid.hidden = view.list.length === 0;
  view.empty.hidden = view.list.length > 0;
  view.grid.setAttribute("aria-rowcount", String(view.list.length + 1));
  view.rows.style.height = `${view.list.length * ROW}px`;
  view.rows.replaceChildren();
  draw();
}

// All cases in the order that is wanted, which a letter more in the search does not change.
function ordered() {
  const order = JSON.stringify([state.sort, state.dir, state.evaluator]);
  if (view.order !== order) {
    view.order = order;
    view.ordered = sorted(groups);
  }
  return view.ordered;
}

function isWanted(group, words) {
  if (state.status !== "" && OUTCOMES[group.outcome].key !== state.status) return false;
  if (state.target !== "" && group.target !== state.target) return false;
  if (state.tag !== "" && !group.tags.includes(state.tag)) return false;
  if (state.evaluator !== "" && !group.grades.has(state.evaluator)) return false;
  if (state.bin !== "" && !group.rows.some(isInBin)) return false;
  return words.every((word) => group.words.includes(word));
}

// The histogram is of graded cases.
function isInBin(row) {
  const { outcome, score: scores } = report.columns;
  return isGraded(outcome[row]) && binOf(scores[row]) === Number(state.bin);
}

// The same tenths as in the report's numbers.
function binOf(value) {
  return Math.min(9, Math.floor((Math.max(0, Math.min(1, value)) + 1e-9) * 10));
}

function sorted(list) {
  const column = COLUMNS.find(({ key }) => key === state.sort) ?? COLUMNS[0];
  const direction = (state.dir === "down") === Boolean(column.isUp) ? 1 : -1;
  return list
    .map((group) => ({ group, value: column.value(group) }))
    .sort((one, other) => compared(one.value, other.value, direction) || one.group.place - other.group.place)
    .map(({ group }) => group);
}

// What is not known comes last, whichever way the list is sorted.
function compared(one, other, direction) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "string") return direction * (one < other ? -1 : Number(one > other));
  return direction * (one - other);
}

function shownScore(group) {
  return state.evaluator === "" ? group.score : (group.grades.get(state.evaluator) ?? null);
}

function later() {
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(draw);
}

// Makes elements of the rows in sight, and lets go of the others.
function draw() {
  if (view.grid.hidden) return;
  const top = view.rows.getBoundingClientRect().top;
  const first = Math.max(0, Math.floor(-top / ROW) - SPARE);
  // Some are there even while the table is below the screen, for those who do not look at it.
  const last = Math.min(view.list.length, Math.max(SPARE, Math.ceil((innerHeight - top) / ROW)) + SPARE);
  const kept = new Map([...view.rows.children].map((row) => [Number(row.dataset.at), row]));
  const rows = [];
  for (let at = first; at < last; at += 1) rows.push(kept.get(at) ?? makeRow(view.list[at], at));
  if (view.active >= 0 && (view.active < first || view.active >= last))
    rows.push(kept.get(view.active) ?? makeRow(view.list[view.active], view.active));
  for (const row of rows) {
    const at = Number(row.dataset.at);
    row.classList.toggle("active", at === view.active);
    row.setAttribute("aria-selected", String(state.case !== "" && view.list[at].place === Number(state.case)));
  }
  const isSame = rows.length === view.rows.children.length && rows.every((row, at) => row === view.rows.children[at]);
  if (!isSame) view.rows.replaceChildren(...rows);
  if (view.active >= 0) view.grid.setAttribute("aria-activedescendant", `row-${view.list[view.active].place}`);
  else view.grid.removeAttribute("aria-activedescendant");
}

function makeRow(group, at) {
  const value = shownScore(group);
  const { key } = OUTCOMES[group.outcome];
  const cell = (name, ...children) => el("div", { role: "gridcell", class: `cell ${name}` }, ...children);
  const row = el(
    "div",
    {
      role: "row",
      class: "row",
      id: `row-${group.place}`,
      "aria-rowindex": at + 2,
      "data-at": at,
      onclick: () => openAt(at),
    },
    cell("outcome", sign(group.outcome)),
    cell(
      "id",
      el(
        "span",
        { class: "first" },
        el("b", {}, group.id),
        group.rows.length > 1 && el("span", { class: "chip" }, `${group.passed}/${group.rows.length} trials`),
        report.names.target.length > 1 && el("span", { class: "chip of-target" }, group.target),
        group.tags.map((tag) => el("span", { class: "chip tag" }, tag)),
      ),
      group.why && el("span", { class: "why" }, group.why),
    ),
    cell("target", group.target),
    cell("score", value === null ? "–" : el("span", {}, score(value)), meter(value ?? 0, key)),
    cell("duration", group.duration === null ? "–" : millis(group.duration)),
    cell("tokens", group.tokens === null ? "–" : tokens(group.tokens)),
    cell("cost", group.cost === null ? "–" : money(group.cost)),
  );
  row.style.transform = `translateY(${at * ROW}px)`;
  return row;
}

function openAt(at) {
  view.active = at;
  change({ case: String(view.list[at].place), trial: "" });
  draw();
}

// Moves to another row; where a case is open, to another case.
export function step(by) {
  if (view.list.length === 0) return;
  const from = view.active >= 0 ? view.active : by > 0 ? -1 : view.list.length;
  view.active = Math.max(0, Math.min(view.list.length - 1, from + by));
  reveal();
  if (state.case !== "") openAt(view.active);
  else draw();
}

export function openActive() {
  if (view.active >= 0) openAt(view.active);
}

export function focusTable() {
  view.grid.focus({ preventScroll: true });
}

export function focusSearch() {
  view.search.focus();
  view.search.select();
}

// Where the open case stands among those that are listed.
export function positionOf(place) {
  return { at: view.list.findIndex((group) => group.place === place), of: view.list.length };
}

export function activate(place) {
  view.active = view.list.findIndex((group) => group.place === place);
  if (view.active >= 0) reveal();
  draw();
}

function reveal() {
  const top = view.rows.getBoundingClientRect().top + view.active * ROW;
  const roof = 112;
  if (top < roof) scrollBy(0, top - roof);
  else if (top + ROW > innerHeight - 8) scrollBy(0, top + ROW - innerHeight + 8);
}

function gridKey(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  if (event.target.closest("button")) return;
  if (event.key in steps) step(steps[event.key]);
  else if (event.key === "Enter" || event.key === " ") openActive();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
