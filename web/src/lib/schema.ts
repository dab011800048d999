/** A part of the JSON Schema of a kind of document, as the server serves it. */
export interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: unknown[];
  type?: string | string[];
  description?: string;
  definitions?: Record<string, Schema>;
}

/** Where the cursor is in a text: below which keys, and at a key or at its value. */
export interface Place {
  /** The keys above it, from the outermost; "-" is an item of a list. */
  steps: Step[];
  line: number;
  column: number;
  /** The key at whose value the cursor is; undefined: it is at a key. */
  key?: string;
  /** What stands there before the cursor already. */
  typed: string;
}

interface Step {
  key: string;
  /** Where its mapping is: a line of it, and the column of its keys. */
  line: number;
  column: number;
}

const keyAt = /^(["']?)([\w.$-]+)\1:(?:\s+(.*)|)$/;

/** tokens are the dashes and the key that a line begins with, with their columns. */
function tokens(line: string): { dashes: number[]; key?: string; column: number; value: string } {
  const dashes: number[] = [];
  let at = line.search(/\S|$/);
  for (let m = /^-( +|$)/.exec(line.slice(at)); m; m = /^-( +|$)/.exec(line.slice(at))) {
    dashes.push(at);
    at += m[0].length;
  }
  const m = keyAt.exec(line.slice(at));
  return { dashes, key: m?.[2], column: at, value: m?.[3] ?? "" };
}

const silent = (line: string) => /^\s*(#|$)/.test(line);

/**
 * placeAt finds out by indentation where a column of a line is: it works in a text that is being written and can't be
 * read yet. undefined: in a script, a comment or what is written in one line.
 */
export function placeAt(lines: string[], line: number, column: number): Place | undefined {
  const head = (lines[line] ?? "").slice(0, column);
  const own = tokens(head);
  const rest = head.slice(own.column);
  if (own.key === undefined && !/^["']?[\w.$-]*$/.test(rest)) return undefined;
  if (/^[{[|>]/.test(own.value) || /\s#/.test(own.value)) return undefined;
  const steps: Step[] = [];
  let limit = own.column;
  let equal = false;
  const item = (at: number, n: number) => {
    steps.unshift({ key: "-", line: n, column: at });
    limit = at;
    equal = true;
  };
  for (const d of [...own.dashes].reverse()) item(d, line);
  for (let n = line - 1; n >= 0 && (limit > 0 || equal); n--) {
    const text = lines[n] ?? "";
    if (silent(text)) continue;
    const t = tokens(text);
    if (t.key !== undefined && (t.column < limit || (equal && t.column === limit && t.dashes.length === 0))) {
      if (t.value !== "" && !t.value.startsWith("#") && !/^[&!]/.test(t.value)) return undefined; // a scalar: a script, mostly
      steps.unshift({ key: t.key, line: n, column: t.column });
      limit = t.column;
      equal = false;
    }
    for (const d of [...t.dashes].reverse()) if (d < limit) item(d, n);
  }
  return { steps, line, column: own.column, key: own.key, typed: own.key === undefined ? rest : own.value };
}

/** siblings are the keys of a mapping that have a value on their line, or none. */
function siblings(lines: string[], line: number, column: number): Map<string, string> {
  const found = new Map<string, string>();
  const see = (n: number): boolean => {
    const text = lines[n] ?? "";
    if (silent(text)) return true;
    const t = tokens(text);
    if (t.key !== undefined && t.column === column) {
      if (n !== line) found.set(t.key, t.value.replace(/\s+#.*$/, "").replace(/^(["'])(.*)\1$/, "$2"));
      return true;
    }
    return text.search(/\S/) > column;
  };
  const begins = (n: number) => tokens(lines[n] ?? "").dashes.length > 0 && tokens(lines[n] ?? "").column === column;
  for (let n = line; n < lines.length && see(n) && !(n + 1 < lines.length && begins(n + 1)); n++);
  for (let n = line; n >= 0 && see(n) && !begins(n); n--);
  return found;
}

/** spread are the schemas that a mapping with these keys has, with those that they refer to. */
function spread(root: Schema, of: Schema[], known: Map<string, string>, depth = 0): Schema[] {
  if (depth > 20) return [];
  return of.flatMap((s): Schema[] => {
    const also: Schema[] = [];
    if (s.$ref) also.push(root.definitions?.[s.$ref.replace("#/definitions/", "")] ?? {});
    also.push(...(s.anyOf ?? []), ...(s.oneOf ?? []));
    for (const a of s.allOf ?? []) {
      if (!a.if) also.push(a);
      else if (a.then && holds(a.if, known)) also.push(a.then);
    }
    return [s, ...spread(root, also, known, depth + 1)];
  });
}

const holds = (condition: Schema, known: Map<string, string>) =>
  Object.entries(condition.properties ?? {}).every(([key, s]) => s.enum?.includes(known.get(key) ?? ""));

/** below are the schemas of a key of the mappings, or of the items of the lists. */
function below(of: Schema[], key: string): Schema[] {
  if (key === "-") return of.flatMap((s) => s.items ?? []);
  const named = of.flatMap((s) => s.properties?.[key] ?? []);
  if (named.length > 0) return named;
  return of.flatMap((s) => (typeof s.additionalProperties === "object" ? s.additionalProperties : []));
}

/** mapping are the schemas of the mapping in which a place is. */
function mapping(root: Schema, lines: string[], place: Place): Schema[] {
  let now: Schema[] = [root];
  for (const step of place.steps) {
    const known = step.key === "-" ? new Map<string, string>() : siblings(lines, step.line, step.column);
    now = below(spread(root, now, known), step.key);
  }
  return spread(root, now, siblings(lines, place.line, place.column));
}

const nothing = "#/definitions/nothing";
const refused = (of: Schema[]) => of.some((s) => s.anyOf?.some((a) => a.$ref === nothing));
const said = (of: Schema[]) => [...new Set(of.flatMap((s) => s.description ?? []))].join("\n");

/** What can stand at a place. */
export interface Proposal {
  label: string;
  /** What of it, in a word or two. */
  detail?: string;
  help?: string;
  /** It has keys or items below it, on lines of their own. */
  opens?: boolean;
}

/** proposals are the keys or the values that can stand at a place. */
export function proposals(root: Schema, lines: string[], place: Place): Proposal[] {
  const here = mapping(root, lines, place);
  if (place.key !== undefined) return values(root, here, place.key).map((label) => ({ label }));
  const has = siblings(lines, place.line, place.column);
  const needed = new Set(here.flatMap((s) => s.required ?? []));
  const keys = new Set(here.flatMap((s) => Object.keys(s.properties ?? {})));
  return [...keys].flatMap((label): Proposal[] => {
    const of = below(here, label);
    if (has.has(label) || refused(of)) return [];
    const all = spread(root, of, new Map());
    const object = all.some((s) => s.type === "object");
    const list = all.some((s) => s.type === "array");
    return [
      {
        label,
        detail: [needed.has(label) && "needed", list ? "list" : object ? "mapping" : ""].filter(Boolean).join(", "),
        help: said(of),
        opens: object || list,
      },
    ];
  });
}

/** values are the words that a key may have, those first that choose what else its mapping has. */
function values(root: Schema, here: Schema[], key: string): string[] {
  const all = spread(root, below(here, key), new Map());
  const words = all.flatMap((s) => s.enum ?? []).filter((v) => typeof v === "string" && v !== "") as string[];
  const boolean = all.some(
    (s) => s.type === "boolean" || (Array.isArray(s.type) && s.type.includes("boolean") && !s.type.includes("number")),
  );
  return [...new Set([...words, ...(boolean ? ["true", "false"] : [])])];
}

/** helpAt is what the schema says of a key: what it is, what it may be, or why it is refused. */
export function helpAt(root: Schema, lines: string[], line: number): string | undefined {
  const text = lines[line] ?? "";
  const t = tokens(text);
  if (t.key === undefined) return undefined;
  const place = placeAt(lines, line, t.column);
  if (!place) return undefined;
  const here = mapping(root, lines, place);
  const of = below(here, t.key);
  if (of.length === 0) return undefined;
  const words = values(root, here, t.key);
  const all = spread(root, of, new Map());
  const kinds = [...new Set(all.flatMap((s) => s.type ?? []))].filter((k) => k !== "null");
  const needed = here.some((s) => s.required?.includes(t.key as string));
  const shown = words.length > 20 ? [...words.slice(0, 20), `${words.length - 20} more`] : words;
  return [
    `${t.key}${needed ? ", needed" : ""}${refused(of) ? ", not supported" : ""}`,
    said(of),
    words.length > 0 ? `One of: ${shown.join(", ")}` : refused(of) ? "" : kinds.join(", "),
  ]
    .filter(Boolean)
    .join("\n");
}

/** wordsAt are the words that a key below these ones may have. */
export function wordsAt(root: Schema, path: string[]): string[] {
  let now: Schema[] = [root];
  for (const key of path) now = below(spread(root, now, new Map([["type", "Custom"]])), key);
  return spread(root, now, new Map()).flatMap((s) =>
    (s.enum ?? []).filter((v) => typeof v === "string" && v !== ""),
  ) as string[];
}
