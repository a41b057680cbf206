// What an agent did, step by step, and what it changed.
import { count, millis } from "./formats.js";
import { asText, el, fold, pretty, textBlock } from "./dom.js";

// The steps of a conversation, or of a trace, in their order.
export function stepsOf(steps) {
  if (steps?.messages) return steps.messages.flatMap(stepsOfMessage);
  return pairedEvents(steps?.trace ?? []);
}

function stepsOfMessage(message) {
  const calls = (message.tool_calls ?? []).map((call) => ({
    kind: "tool",
    name: call.tool,
    input: call.input,
    output: call.output,
    duration: call.duration_ms,
    at: call.timestamp,
  }));
  const words = wordsOf(message.content);
  const said =
    words === ""
      ? []
      : [
          {
            kind: "message",
            name: message.name ? `${message.role} ${message.name}` : message.role,
            text: words,
            duration: message.duration_ms,
            at: message.timestamp,
          },
        ];
  return [...said, ...calls];
}

function wordsOf(content) {
  if (!Array.isArray(content)) return asText(content);
  return content
    .map((part) => (typeof part === "string" ? part : (part?.text ?? part?.value ?? asText(part))))
    .map(asText)
    .join("\n");
}

// A result belongs to the call of the same id, or to the last one without a result.
function pairedEvents(events) {
  const steps = [];
  for (const event of events) {
    if (event.type === "tool_result") {
      const open = steps.filter((step) => step.kind === "tool" && step.output === undefined);
      const call = open.find((step) => event.id !== undefined && step.id === event.id) ?? open.at(-1);
      if (call) {
        call.output = event.output ?? event.text ?? null;
        call.duration ??= event.metadata?.duration_ms;
        continue;
      }
    }
    const isTool = event.type === "tool_call" || event.type === "tool_result";
    steps.push({
      kind: isTool ? "tool" : event.type === "error" ? "error" : "message",
      id: event.id,
      name: event.name ?? event.type,
      input: event.input,
      output: event.output,
      text: event.text,
      duration: event.metadata?.duration_ms,
      at: event.timestamp,
    });
  }
  return steps;
}

export function timeline(steps) {
  const longest = Math.max(1, ...steps.map((step) => step.duration ?? 0));
  let calls = 0;
  return el(
    "ol",
    { class: "timeline" },
    steps.map((step) => {
      if (step.kind === "tool") calls += 1;
      return el("li", { class: step.kind }, step.kind === "tool" ? toolStep(step, calls, longest) : messageStep(step));
    }),
  );
}

function toolStep(step, place, longest) {
  const input = asText(step.input);
  const glance = glanceOf(step.input);
  const time =
    step.duration === undefined || step.duration === null
      ? null
      : el("span", { class: "time" }, bar(step.duration, longest), millis(step.duration));
  const head = [
    el("span", { class: "place" }, String(place)),
    el("code", { class: "tool-name" }, step.name),
    glance && el("code", { class: "glance" }, glance),
    time,
  ];
  const output = step.output === undefined || step.output === null ? "" : asText(step.output);
  if (input === "" && output === "") return el("div", { class: "tool-head" }, head);
  return el(
    "details",
    {},
    el("summary", { class: "tool-head" }, head),
    input !== "" && part("Input", pretty(input)),
    output !== "" && part("Output", pretty(output)),
  );
}

function bar(duration, longest) {
  const fill = el("i", {});
  fill.style.width = `${Math.max(3, (duration / longest) * 100)}%`;
  return el("span", { class: "bar-track", "aria-hidden": "true" }, fill);
}

// What a call is about, in a few words.
function glanceOf(input) {
  if (input === undefined || input === null) return "";
  const value =
    typeof input === "object" && !Array.isArray(input) && Object.keys(input).length > 0
      ? Object.values(input)[0]
      : input;
  const text = (typeof value === "string" ? value : JSON.stringify(value)) ?? "";
  return text.replace(/\s+/g, " ").slice(0, 120);
}

function messageStep(step) {
  return [
    el(
      "div",
      { class: "message-head" },
      el("span", { class: "role" }, step.name),
      step.duration !== undefined && step.duration !== null && el("span", { class: "time" }, millis(step.duration)),
    ),
    step.text ? textBlock(step.text) : step.output !== undefined && textBlock(pretty(asText(step.output))),
  ];
}

function part(title, text) {
  return el("div", { class: "part" }, el("h4", {}, title), textBlock(text, "code"));
}

// How often each tool was used, where nothing else is known.
export function toolTally(summary) {
  const names = Object.entries(summary?.tool_calls_by_name ?? {});
  if (names.length === 0) return null;
  return el(
    "ul",
    { class: "tally-list" },
    names.map(([name, number]) => el("li", {}, el("code", {}, name), ` × ${number}`)),
  );
}

const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R" };

export function fileChanges(changes) {
  const files = changes.files ?? [];
  const pieces = (changes.diff ?? "").split(/^(?=diff --git )/m).filter((piece) => piece.trim() !== "");
  const list = el(
    "ul",
    { class: "files" },
    files.map((file) =>
      el(
        "li",
        {},
        el("span", { class: `letter ${file.status}`, title: file.status }, LETTERS[file.status] ?? "?"),
        el("code", {}, file.old_path ? `${file.old_path} → ${file.path}` : file.path),
        el("span", { class: "plus" }, `+${file.additions}`),
        el("span", { class: "minus" }, `−${file.deletions}`),
      ),
    ),
  );
  return [
    list,
    changes.files_omitted > 0 &&
      el("p", { class: "muted" }, `and ${count(changes.files_omitted, "more file", "more files")}`),
    pieces.map((piece) => fold(el("code", {}, pathOf(piece)), diffLines(piece), pieces.length <= 3)),
    changes.diff_truncated && el("p", { class: "muted" }, "The diff is cut off here; judges saw more of it."),
  ];
}

function pathOf(piece) {
  const found =
    /^\+\+\+ b\/(.*)$/m.exec(piece) ?? /^--- a\/(.*)$/m.exec(piece) ?? /^diff --git a\/(.*?) b\//m.exec(piece);
  return found ? found[1] : "diff";
}

function diffLines(piece) {
  const kinds = { "+": "added", "-": "removed", "@": "hunk" };
  const lines = piece.replace(/\n$/, "").split("\n");
  const start = Math.max(
    0,
    lines.findIndex((line) => line.startsWith("@@")),
  );
  const shown = (start > 0 ? lines.slice(start) : lines).map((line) =>
    el("span", { class: `line ${kinds[line[0]] ?? ""}` }, `${line}\n`),
  );
  return el("pre", { class: "diff", tabindex: 0 }, shown);
}
