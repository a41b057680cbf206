/**
 * Renames the keys of the wire to those of TypeScript, by the schema and not by how they look: what is inside a tool's
 * input, `config`, `metadata` or a message's content belongs to the user, and `max_items` there must stay `max_items`.
 */
import { WIRE_KEYS } from "../generated/payload.js";

/** The objects of the wire. */
export type WireObject = keyof typeof WIRE_KEYS;

type Field = readonly [name: string, inside?: WireObject];

/** The value in camelCase. Keys that the schema does not know, and values of another kind than it says, stay as they are. */
export function toCamelCaseDeep(value: unknown, object: WireObject): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => toCamelCaseDeep(item, object));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const fields = new Map<string, Field>(Object.entries(WIRE_KEYS[object]));
  const entries = Object.entries(value).map(([key, inner]) => {
    const [name, inside] = fields.get(key) ?? [key];
    return [name, inside === undefined ? inner : toCamelCaseDeep(inner, inside)] as const;
  });
  // Unlike an assignment, this cannot be tricked by a key `__proto__`.
  return Object.fromEntries(entries);
}
