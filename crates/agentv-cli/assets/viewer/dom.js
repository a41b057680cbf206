// Elements. Text only ever becomes a text node: whatever stands in a record, nothing of it is markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

// By the numbers that the columns have; cases whose trials do not agree are flaky.
export const OUTCOMES = [
  { key: "pass", word: "Passed", sign: "✓" },
  { key: "fail", word: "Failed", sign: "✕" },
  { key: "ungraded", word: "Ungraded", sign: "?" },
  { key: "error", word: "Error", sign: "!" },
  { key: "flaky", word: "Flaky", sign: "~" },
];

export function sign(outcome) {
  const { key, word, sign } = OUTCOMES[outcome];
  return el("span", { class: `sign ${key}`, role: "img", "aria-label": word, title: word }, sign);
}

export function badge(outcome) {
  const { key, word, sign } = OUTCOMES[outcome];
  return el("span", { class: `badge ${key}` }, `${sign} ${word}`);
}

export function meter(value, kind) {
  const fill = el("i", { class: kind });
  fill.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
  return el("span", { class: "meter", "aria-hidden": "true" }, fill);
}

export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("shown"), 1600);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file may not use the clipboard everywhere.
    const area = el("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}

export function copyButton(text, what) {
  const label = `Copy ${what.toLowerCase()}`;
  return el(
    "button",
    { class: "copy", type: "button", "aria-label": label, title: label, onclick: () => copy(text, what) },
    svg(
      "svg",
      { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" },
      svg("rect", { x: 5.5, y: 5.5, width: 8, height: 8, rx: 1.8 }),
      svg("path", { d: "M3.5 10.5h-.2A1.8 1.8 0 0 1 1.5 8.7V3.3a1.8 1.8 0 0 1 1.8-1.8h5.4a1.8 1.8 0 0 1 1.8 1.8v.2" }),
    ),
  );
}

// Long text starts folded.
export function textBlock(text, kind = "") {
  const shown = el("pre", { class: `text ${kind}`, tabindex: 0 }, text);
  const lines = text.split("\n", 40).length;
  if (text.length < 2400 && lines < 26) {
    shown.removeAttribute("tabindex");
    return shown;
  }
  shown.classList.add("folded");
  const more = el("button", { class: "more", type: "button", "aria-expanded": "false" }, "Show all");
  more.addEventListener("click", () => {
    const isFolded = shown.classList.toggle("folded");
    more.textContent = isFolded ? "Show all" : "Show less";
    more.setAttribute("aria-expanded", String(!isFolded));
  });
  return el("div", { class: "foldable" }, shown, more);
}

// Anything as text: words as they are, structures as JSON.
export function asText(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

// Text that is JSON is easier to read on several lines.
export function pretty(text) {
  const start = text.trimStart()[0];
  if ((start !== "{" && start !== "[") || text.length > 200000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function fold(title, content, isOpen = false) {
  return el("details", { class: "fold", open: isOpen }, el("summary", {}, title), content);
}
