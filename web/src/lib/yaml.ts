import { isMap, isScalar, parseDocument } from "yaml";

/** What a document says, for pages to show; nothing where it can't be read. The server alone judges documents. */
export type Value = string | number | boolean | null | undefined | Value[] | { [key: string]: Value };

/** read gives a document's values. */
export function read(text: string): Value {
  try {
    return parseDocument(text, { logLevel: "silent" }).toJS({ maxAliasCount: 100 }) as Value;
  } catch {
    return undefined;
  }
}

/** at is the value at a path. */
export function at(value: Value, ...path: string[]): Value {
  for (const key of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = value[key];
  }
  return value;
}

/** textAt is the value at a path in one line, and empty where there is none. */
export function textAt(value: Value, ...path: string[]): string {
  const found = at(value, ...path);
  if (found === undefined || found === null) return "";
  return typeof found === "object" ? JSON.stringify(found) : String(found);
}

/** listAt is the list at a path, and empty where there is none. */
export function listAt(value: Value, ...path: string[]): Value[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/**
 * put gives a document another plain value for a key, and changes nothing else in it: in the place of the value that
 * it has, or before the first key beside it. It is undefined if there is no place for it.
 */
export function put(text: string, path: string[], value: string): string | undefined {
  const doc = parseDocument(text, { logLevel: "silent" });
  const node = doc.getIn(path, true);
  if (isScalar(node) && node.range) return text.slice(0, node.range[0]) + value + text.slice(node.range[1]);
  const above = doc.getIn(path.slice(0, -1), true);
  const first = isMap(above) ? above.items[0]?.key : undefined;
  if (node !== undefined || !isMap(above) || !isScalar(first) || !first.range) return undefined;
  const at = first.range[0];
  const indent = at - text.lastIndexOf("\n", at - 1) - 1;
  return `${text.slice(0, at)}${path.at(-1)}: ${value}${above.flow ? ", " : `\n${" ".repeat(indent)}`}${text.slice(at)}`;
}
