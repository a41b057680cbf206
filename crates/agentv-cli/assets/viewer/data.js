// What the page is about: columns for the table, read at once, and each case in depth, read when it is opened.
import { OUTCOMES } from "./dom.js";

export const report = JSON.parse(document.getElementById("report").textContent);

// The records of one case on one target; more than one where there are trials.
export const groups = makeGroups(report.columns, report.names);

export function detail(row) {
  const element = document.getElementById(`case-${row}`);
  return element ? JSON.parse(element.textContent) : { record: {} };
}

function makeGroups(columns, names) {
  const list = [];
  const places = new Map();
  for (let row = 0; row < columns.id.length; row += 1) {
    const isTrial = columns.trial[row] !== null;
    const key = isTrial ? JSON.stringify([columns.dataset[row], columns.target[row], columns.id[row]]) : row;
    const known = places.get(key);
    if (known === undefined) {
      places.set(key, list.length);
      list.push([row]);
    } else {
      list[known].push(row);
    }
  }
  for (const rows of list) rows.sort((one, other) => columns.trial[one] - columns.trial[other]);
  return list.map((rows, place) => makeGroup(rows, place, columns, names));
}

function makeGroup(rows, place, columns, names) {
  const [first] = rows;
  const outcomes = rows.map((row) => columns.outcome[row]);
  const graded = rows.filter((row) => isGraded(columns.outcome[row]));
  const tags = columns.tags[first].map((tag) => names.tag[tag]);
  const target = names.target[columns.target[first]];
  const dataset = names.dataset[columns.dataset[first]];
  const unlucky = rows.find((row) => columns.outcome[row] !== 0) ?? first;
  const grades = new Map();
  for (const [evaluator, value] of rows.flatMap((row) => columns.grades[row])) {
    const name = names.evaluator[evaluator];
    grades.set(name, [...(grades.get(name) ?? []), value]);
  }
  return {
    place,
    rows,
    id: columns.id[first],
    target,
    dataset,
    tags,
    outcome: together(outcomes),
    passed: outcomes.filter((outcome) => outcome === 0).length,
    score: mean(graded.map((row) => columns.score[row])),
    grades: new Map([...grades].map(([name, values]) => [name, mean(values.filter((value) => value !== null))])),
    why: columns.why[unlucky],
    duration: sum(rows.map((row) => columns.duration[row])),
    cost: sum(rows.map((row) => columns.cost[row])),
    tokens: sum(rows.map((row) => columns.tokens[row])),
    words: [columns.id[first], target, dataset, ...tags, columns.why[unlucky] ?? ""].join("\n").toLowerCase(),
  };
}

// Whether the score says something of the answer.
export function isGraded(outcome) {
  return outcome <= 1;
}

// Trials of which only some pass are flaky.
function together(outcomes) {
  if (outcomes.every((outcome) => outcome === outcomes[0])) return outcomes[0];
  if (outcomes.includes(0)) return OUTCOMES.findIndex(({ key }) => key === "flaky");
  return outcomes.includes(1) ? 1 : Math.max(...outcomes);
}

function mean(values) {
  return values.length === 0 ? null : values.reduce((one, other) => one + other, 0) / values.length;
}

function sum(values) {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((one, other) => one + other, 0);
}
