// The page writes numbers as the rest of the program does: figures.rs is held to the same table.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as formats from "../../crates/agentv-cli/assets/viewer/formats.js";

const table = JSON.parse(await readFile(new URL("figures.json", import.meta.url), "utf8"));

for (const [name, examples] of Object.entries(table)) {
  test(name, () => {
    for (const [value, expected] of examples) assert.equal(formats[name](value), expected, `${name}(${value})`);
  });
}
