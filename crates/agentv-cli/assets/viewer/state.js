// What is looked for and what is open. It lives in the address, so that a link leads to the same view.

const EMPTY = {
  q: "",
  status: "",
  target: "",
  tag: "",
  evaluator: "",
  bin: "",
  sort: "outcome",
  dir: "down",
  case: "",
  trial: "",
};

export const state = { ...EMPTY, ...fromHash() };

const listeners = [];

export function onChange(listener) {
  listeners.push(listener);
}

export function change(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  const hash = toHash();
  if (hash !== location.hash.slice(1))
    history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
  for (const listener of listeners) listener(before);
}

export function clearFilters() {
  const { q, status, target, tag, evaluator, bin } = EMPTY;
  change({ q, status, target, tag, evaluator, bin });
}

export function isFiltered() {
  return ["q", "status", "target", "tag", "evaluator", "bin"].some((key) => state[key] !== "");
}

function fromHash() {
  const found = {};
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    if (Object.hasOwn(EMPTY, key)) found[key] = value;
  }
  return found;
}

function toHash() {
  const kept = Object.entries(state).filter(([key, value]) => value !== EMPTY[key]);
  return new URLSearchParams(kept).toString();
}

addEventListener("hashchange", () => change({ ...EMPTY, ...fromHash() }));
