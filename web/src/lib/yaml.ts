import { isScalar, parseDocument } from "yaml";

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
 * put gives a document another plain value at a path that it has, and changes nothing else in it; undefined if it
 * doesn't have the path.
 */
export function put(text: string, path: string[], value: string): string | undefined {
  const node = parseDocument(text, { logLevel: "silent" }).getIn(path, true);
  if (!isScalar(node) || !node.range) return undefined;
  return text.slice(0, node.range[0]) + value + text.slice(node.range[1]);
}
