// Puts the page together: theme, keys, help.
import { copyId, showCases } from "./case.js";
import { el, toast } from "./dom.js";
import { report } from "./data.js";
import { showOverview, titleOf } from "./overview.js";
import { change, clearFilters, isFiltered, state } from "./state.js";
import { focusSearch, focusTable, openActive, showTable, step } from "./table.js";

const KEYS = [
  ["j  k", "next and previous case"],
  ["↓  ↑", "the same in the table"],
  ["Enter", "open the case"],
  ["Esc", "close it, or clear the filters"],
  ["/", "search"],
  ["c", "copy the id of the open case"],
  ["t", "light or dark"],
  ["?", "this help"],
];

function start() {
  restoreTheme();
  const button = (label, text, action) =>
    el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick: action }, text);
  document
    .getElementById("top")
    .replaceChildren(
      el("span", { class: "brand" }, "AgentV"),
      el("h1", {}, titleOf()),
      el("span", { class: "space" }),
      button("Light or dark (t)", "◐", turnTheme),
      button("Keys (?)", "?", help),
    );
  showOverview(document.getElementById("overview"));
  showTable(document.getElementById("cases"));
  showCases(document.getElementById("case"));
  addEventListener("keydown", key);
  document.documentElement.dataset.ready = String(report.columns.id.length);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.closest?.("input, select, textarea") !== null;
  if (event.key === "Escape") return escape(event, isTyping);
  if (isTyping) {
    if (event.key === "Enter" || event.key === "ArrowDown") {
      focusTable();
      step(1);
      event.preventDefault();
    }
    return undefined;
  }
  const isFree = event.target === document.body || event.target === document.documentElement;
  const actions = {
    j: () => step(1),
    k: () => step(-1),
    o: openActive,
    c: copyId,
    t: turnTheme,
    "/": focusSearch,
    "?": help,
    ...(isFree
      ? {
          ArrowDown: () => {
            focusTable();
            step(1);
          },
          ArrowUp: () => {
            focusTable();
            step(-1);
          },
          Enter: openActive,
        }
      : {}),
  };
  const action = actions[event.key];
  if (action === undefined || document.getElementById("help").open) return undefined;
  event.preventDefault();
  return action();
}

function escape(event, isTyping) {
  if (document.getElementById("help").open) return;
  if (isTyping) {
    focusTable();
  } else if (state.case !== "") {
    change({ case: "", trial: "" });
  } else if (isFiltered()) {
    clearFilters();
  }
  event.preventDefault();
}

function help() {
  const dialog = document.getElementById("help");
  dialog.replaceChildren(
    el("h2", { id: "help-title" }, "Keys"),
    el(
      "dl",
      {},
      KEYS.map(([keys, meaning]) =>
        el(
          "div",
          {},
          el(
            "dt",
            {},
            keys.split("  ").map((one) => el("kbd", {}, one)),
          ),
          el("dd", {}, meaning),
        ),
      ),
    ),
    el("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}

function restoreTheme() {
  try {
    const theme = localStorage.getItem("agentv-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Some browsers let files keep nothing.
  }
}

function turnTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  toast(isDark ? "Light" : "Dark");
  try {
    localStorage.setItem("agentv-theme", root.dataset.theme);
  } catch {
    // Then it holds for this visit.
  }
}

start();
