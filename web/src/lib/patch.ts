import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/** A change of a text: what stands between two places becomes something else. */
export interface Change {
  from: number;
  to: number;
  insert: string;
}

/** Where something is in a document: keys of mappings and places in lists. */
export type Path = readonly (string | number)[];

/** What an edit comes to: a change of the text, or why it isn't made. */
export type Edited = { change: Change } | { refused: string };

type Tree = unknown;

/** treeOf is what a text says; undefined if it can't be read. */
export function treeOf(text: string): Tree | undefined {
  const doc = parse(text);
  return doc.errors.length > 0 ? undefined : plain(doc);
}

const parse = (text: string) => parseDocument(text, { logLevel: "silent", keepSourceTokens: true });
// What aliases share is apart in the tree, so an edit that would change it in two places isn't the wanted one.
const plain = (doc: Document): Tree => JSON.parse(JSON.stringify(doc.toJS({ maxAliasCount: 100 }) ?? null));

const unreadable = "the text can't be read as it is; mend it first";

/**
 * edit makes an edit of a text, and looks whether it has come out as it was meant: nothing else in the document may have
 * changed. Otherwise it isn't made.
 */
function edit(
  text: string,
  make: (doc: Document) => { text: string } | { refused: string },
  mean: (tree: Tree) => void,
): Edited {
  const doc = parse(text);
  if (doc.errors.length > 0) return { refused: unreadable };
  const made = make(doc);
  if ("refused" in made) return made;
  const want = plain(doc);
  mean(want);
  const got = treeOf(made.text);
  if (got === undefined || JSON.stringify(got) !== JSON.stringify(want)) {
    return { refused: "this can't be done without changing other lines; do it in the text" };
  }
  return { change: changeOf(text, made.text) };
}

/** changeOf is the least change that makes one text of another. */
export function changeOf(before: string, after: string): Change {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from++;
  let tail = 0;
  while (
    tail < before.length - from &&
    tail < after.length - from &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++;
  return { from, to: before.length - tail, insert: after.slice(from, after.length - tail) };
}

/** applied is a text with a change made. */
export const applied = (text: string, c: Change) => text.slice(0, c.from) + c.insert + text.slice(c.to);

const at = (tree: Tree, path: Path): Tree =>
  path.reduce<Tree>((t, k) => (t as Record<string | number, Tree>)?.[k], tree);

/** Lines from the first to before the last, counted from 0. */
type Lines = readonly [number, number];

/**
 * linesOf are the lines of an item of a list: from the comment that stands right above it to the last one that is
 * indented below its dash.
 */
export function linesOf(text: string, path: Path): Lines | undefined {
  const doc = parse(text);
  const list = doc.getIn(path.slice(0, -1), true);
  return isSeq(list) ? itemLines(text, list, Number(path.at(-1))) : undefined;
}

function itemLines(text: string, list: YAMLSeq, i: number): Lines | undefined {
  const dash = dashOf(list, i);
  if (dash === undefined) return undefined;
  const start = text.lastIndexOf("\n", dash - 1) + 1;
  if (!/^ *$/.test(text.slice(start, dash))) return undefined; // something else begins on this line
  const column = dash - start;
  const lines = text.split("\n");
  const own = text.slice(0, start).split("\n").length - 1;
  let first = own;
  while (first > 0 && indentOf(lines[first - 1]) === column && lines[first - 1]?.trim().startsWith("#")) first--;
  let last = own + 1;
  for (let n = own + 1; n < lines.length; n++) {
    const indent = indentOf(lines[n]);
    if (indent === undefined) continue; // blank: it is the item's if more of it comes
    if (indent <= column) {
      if (!lines[n]?.trim().startsWith("#")) break;
      continue;
    }
    last = n + 1;
  }
  return [first, last];
}

/** dashOf is where the dash of an item of a block list is; undefined in a flow list. */
function dashOf(list: YAMLSeq, i: number): number | undefined {
  const token = list.srcToken;
  if (token?.type !== "block-seq") return undefined;
  const items = token.items.filter((t) => t.start.some((s) => s.type === "seq-item-ind"));
  return items[i]?.start.find((s) => s.type === "seq-item-ind")?.offset;
}

/** indentOf counts the blanks that a line begins with; undefined: there is nothing else. */
function indentOf(line: string | undefined): number | undefined {
  const n = line?.search(/\S/) ?? -1;
  return n < 0 ? undefined : n;
}

const inOneLine = { refused: "the list is written in one line; change it in the text" };

/** remove takes an item out of a list, with the comment above it. */
export function remove(text: string, path: Path): Edited {
  const [above, i] = [path.slice(0, -1), Number(path.at(-1))];
  return edit(
    text,
    (doc) => {
      const list = doc.getIn(above, true);
      const cut = isSeq(list) ? itemLines(text, list, i) : undefined;
      if (!isSeq(list) || !cut) return inOneLine;
      const lines = text.split("\n");
      const without = [...lines.slice(0, cut[0]), ...lines.slice(cut[1])].join("\n");
      if (list.items.length > 1) return { text: without };
      const key = pairOf(doc, above)?.key as Scalar | undefined;
      const colon = key?.range ? text.indexOf(":", key.range[1]) + 1 : 0;
      return colon > 0 ? { text: `${without.slice(0, colon)} []${without.slice(colon)}` } : inOneLine;
    },
    (tree) => (at(tree, above) as Tree[]).splice(i, 1),
  );
}

/** move puts an item of a list into the place of another one of it. */
export function move(text: string, path: Path, to: number): Edited {
  const [above, i] = [path.slice(0, -1), Number(path.at(-1))];
  return edit(
    text,
    (doc) => {
      const list = doc.getIn(above, true);
      const cut = isSeq(list) ? itemLines(text, list, i) : undefined;
      const place = isSeq(list) ? itemLines(text, list, to) : undefined;
      if (!cut || !place) return inOneLine;
      const lines = text.split("\n");
      const item = lines.slice(cut[0], cut[1]);
      if (to < i) {
        lines.splice(cut[0], item.length);
        lines.splice(place[0], 0, ...item);
      } else {
        lines.splice(place[1], 0, ...item);
        lines.splice(cut[0], item.length);
      }
      return { text: lines.join("\n") };
    },
    (tree) => {
      const list = at(tree, above) as Tree[];
      list.splice(to, 0, ...list.splice(i, 1));
    },
  );
}

/**
 * moveTo takes an item out of its list and puts it at the end of another one, with the comment above it: its lines move
 * to the side by as much as the other list's stand there.
 */
export function moveTo(text: string, path: Path, list: Path): Edited {
  const [above, i] = [path.slice(0, -1), Number(path.at(-1))];
  if (path.every((k, n) => list[n] === k)) return { refused: "it can't be moved into itself" };
  return edit(
    text,
    (doc) => {
      const [from, into] = [doc.getIn(above, true), doc.getIn(list, true)];
      if (!isSeq(from) || !isSeq(into)) return inOneLine;
      if (from.items.length === 1) return { refused: "it is the last one in its list, which can't be empty" };
      if (into.items.length === 0) return { refused: "the other list is empty; add something to it first" };
      const last = into.items.length - 1;
      const [cut, place] = [itemLines(text, from, i), itemLines(text, into, last)];
      const [dash, other] = [columnOf(text, from, i), columnOf(text, into, last)];
      if (!cut || !place || dash === undefined || other === undefined) return inOneLine;
      const lines = text.split("\n");
      const item = lines.slice(cut[0], cut[1]).map((l) => shifted(l, other - dash));
      if (place[1] <= cut[0]) {
        lines.splice(cut[0], cut[1] - cut[0]);
        lines.splice(place[1], 0, ...item);
      } else {
        lines.splice(place[1], 0, ...item);
        lines.splice(cut[0], cut[1] - cut[0]);
      }
      return { text: lines.join("\n") };
    },
    (tree) => {
      const [from, into] = [at(tree, above) as Tree[], at(tree, list) as Tree[]];
      into.push(...from.splice(i, 1));
    },
  );
}

/** columnOf is where in its line the dash of an item stands. */
function columnOf(text: string, list: YAMLSeq, i: number): number | undefined {
  const dash = dashOf(list, i);
  return dash === undefined ? undefined : dash - text.lastIndexOf("\n", dash - 1) - 1;
}

/** shifted is a line further to the right, or to the left as far as there are blanks. */
function shifted(line: string, by: number): string {
  if (line.trim() === "") return line;
  return by >= 0 ? " ".repeat(by) + line : line.slice(Math.min(-by, indentOf(line) ?? 0));
}

/** add puts an item into a list, after another one or, with -1, first. The item is YAML of a mapping, without a dash. */
export function add(text: string, list: Path, after: number, item: string): Edited {
  const body = item.trimEnd().split("\n");
  const under = (column: number) => body.map((l, n) => `${" ".repeat(column)}${n === 0 ? "- " : "  "}${l}`.trimEnd());
  return edit(
    text,
    (doc) => {
      const found = doc.getIn(list, true);
      const lines = text.split("\n");
      if (isSeq(found) && found.items.length > 0) {
        const place = itemLines(text, found, Math.max(0, after));
        const dash = dashOf(found, Math.max(0, after));
        if (!place || dash === undefined) return inOneLine;
        const column = dash - text.lastIndexOf("\n", dash - 1) - 1;
        lines.splice(after < 0 ? place[0] : place[1], 0, ...under(column));
        return { text: lines.join("\n") };
      }
      const pair = pairOf(doc, list);
      const key = pair?.key;
      if (!pair || !isScalar(key) || !key.range || (isSeq(found) && !found.range))
        return { refused: "there is no list" };
      const map = doc.getIn(list.slice(0, -1), true);
      if (isMap(map) && map.flow) return inOneLine;
      const start = text.lastIndexOf("\n", key.range[0] - 1) + 1;
      const colon = text.indexOf(":", key.range[1]) + 1;
      const end = isSeq(found) && found.range ? found.range[1] : colon;
      const rest = text.slice(end);
      const line = rest.search(/\n|$/);
      const head = text.slice(0, colon) + rest.slice(0, line);
      return { text: `${head}\n${under(key.range[0] - start + 2).join("\n")}${rest.slice(line)}` };
    },
    (tree) => {
      const above = at(tree, list.slice(0, -1)) as Record<string | number, Tree>;
      const key = list.at(-1) as string;
      above[key] ??= [];
      (above[key] as Tree[]).splice(after + 1, 0, treeOf(item));
    },
  );
}

/** set gives a scalar another value in the style that it has, or its mapping the key if it hasn't got it. */
export function set(text: string, path: Path, value: string): Edited {
  const [above, key] = [path.slice(0, -1), path.at(-1) as string];
  let means: Tree = value;
  return edit(
    text,
    (doc) => {
      const node = doc.getIn(path, true);
      const map = doc.getIn(above, true);
      if (!isMap(map)) return { refused: "there is nothing that could have it" };
      if (isScalar(node) && node.range) {
        if (node.anchor) return { refused: "it is shared by aliases; change it in the text" };
        const { literal, read } = written(text, node, value, Boolean(map.flow));
        means = read;
        const end = node.range[1];
        return { text: text.slice(0, node.range[0]) + gap(text, node.range[0]) + literal + text.slice(end) };
      }
      if (node !== undefined && node !== null) return { refused: "it is more than one value; change it in the text" };
      const { literal, read } = plainOr(value, Boolean(map.flow));
      means = read;
      return added(text, map, key, literal);
    },
    (tree) => {
      (at(tree, above) as Record<string, Tree>)[key] = means;
    },
  );
}

/**
 * assign gives a key of a mapping a value that is written in one line of YAML, in the place of whatever it has, or adds
 * the key to the mapping.
 */
export function assign(text: string, path: Path, literal: string): Edited {
  const [above, key] = [path.slice(0, -1), path.at(-1) as string];
  return edit(
    text,
    (doc) => {
      const map = doc.getIn(above, true);
      const pair = pairOf(doc, path);
      if (!isMap(map)) return { refused: "there is nothing that could have it" };
      if (!pair) return added(text, map, key, literal);
      const from = (pair.key as Scalar).range?.[1];
      const end = (pair.value as Scalar | null)?.range?.[1] ?? text.indexOf(":", from) + 1;
      if (from === undefined) return { refused: "there is no place for it" };
      const ends = text[end - 1] === "\n" ? "\n" : "";
      return { text: `${text.slice(0, text.indexOf(":", from) + 1)} ${literal}${ends}${text.slice(end)}` };
    },
    (tree) => {
      (at(tree, above) as Record<string, Tree>)[key] = treeOf(literal);
    },
  );
}

/** unset takes a key out of a mapping, with its value and the comment right above it. */
export function unset(text: string, path: Path): Edited {
  const [above, key] = [path.slice(0, -1), path.at(-1) as string];
  return edit(
    text,
    (doc) => {
      const map = doc.getIn(above, true);
      const start = (pairOf(doc, path)?.key as Scalar | undefined)?.range?.[0];
      if (!isMap(map) || map.flow || start === undefined) return { refused: "it is written in one line with others" };
      const lines = text.split("\n");
      const own = text.slice(0, start).split("\n").length - 1;
      const column = indentOf(lines[own]) ?? 0;
      let first = own;
      while (first > 0 && indentOf(lines[first - 1]) === column && lines[first - 1]?.trim().startsWith("#")) first--;
      let last = own + 1;
      for (let n = own + 1; n < lines.length; n++) {
        const indent = indentOf(lines[n]);
        if (indent === undefined) continue;
        const item = /^ *- /.test(lines[n] ?? "") && indent === column; // a list may stand under its key's column
        if (indent <= column && !item) break;
        last = n + 1;
      }
      lines.splice(first, last - first);
      return { text: lines.join("\n") };
    },
    (tree) => {
      delete (at(tree, above) as Record<string, Tree>)[key];
    },
  );
}

/** A place in an expression that names a stage or a step by its identifier. */
const named = (identifier: string) =>
  new RegExp(`(\\b(?:stages|steps|rollbackSteps)\\.)${identifier}(?=[.\\s>)\\]]|$)`, "g");
const expressions = /<\+[^<>]*>/g;

/** mentions counts the expressions that name an identifier. */
export const mentions = (text: string, identifier: string): number =>
  [...text.matchAll(expressions)].filter(([e]) => named(identifier).test(e)).length;

/** rename gives an item another identifier, and with it the expressions that name it. */
export function rename(text: string, path: Path, before: string, after: string): Edited {
  const alone = set(text, path, after);
  if ("refused" in alone) return alone;
  const other = applied(text, alone.change).replace(expressions, (e) => e.replace(named(before), `$1${after}`));
  if (treeOf(other) === undefined) return { refused: unreadable };
  return { change: changeOf(text, other) };
}

/** gap is the blank that must stand between a colon and a value that wasn't there. */
const gap = (text: string, from: number) => (text[from - 1] === ":" ? " " : "");

/** added is the text with a key behind the last one of a mapping. */
function added(text: string, map: YAMLMap, key: string, literal: string): { text: string } | { refused: string } {
  const first = map.items[0]?.key;
  const last = map.items.at(-1);
  if (!isScalar(first) || !first.range || !last || !isPair(last))
    return { refused: "there is no key beside which it could stand" };
  if (map.flow) {
    const value = last.value as Scalar | null;
    const end = value?.range?.[1] ?? (last.key as Scalar).range?.[1];
    if (end === undefined) return { refused: "there is no key beside which it could stand" };
    return { text: `${text.slice(0, end)}, ${key}: ${literal}${text.slice(end)}` };
  }
  const start = text.lastIndexOf("\n", first.range[0] - 1) + 1;
  const column = first.range[0] - start;
  const lines = text.split("\n");
  let n = text.slice(0, ((last.key as Scalar).range as number[])[0]).split("\n").length;
  for (let m = n; m < lines.length; m++) {
    const indent = indentOf(lines[m]);
    if (indent === undefined) continue;
    const item = /^ *- /.test(lines[m] ?? "") && indent === column; // a list may stand under its key's column
    if (indent < column || (indent === column && !item)) break;
    n = m + 1;
  }
  lines.splice(n, 0, `${" ".repeat(column)}${key}: ${literal}`);
  return { text: lines.join("\n") };
}

/** written is a value in the style of the scalar that it takes the place of, and what is read of it. */
function written(text: string, node: Scalar, value: string, flow: boolean): { literal: string; read: Tree } {
  const quoted = { literal: JSON.stringify(value), read: value };
  switch (node.type) {
    case "QUOTE_DOUBLE":
      return quoted;
    case "QUOTE_SINGLE":
      return value.includes("\n") ? quoted : { literal: `'${value.replaceAll("'", "''")}'`, read: value };
    case "BLOCK_LITERAL": {
      const [from, to] = node.range as [number, number, number];
      const source = text.slice(from, to);
      const header = source.slice(0, source.indexOf("\n"));
      const indent = /\n( +)\S/.exec(source)?.[1];
      if (!indent || /[0-9]/.test(header) || value.trim() === "" || /^\s/.test(value)) return quoted;
      const ends = /\n*$/.exec(value)?.[0].length ?? 0;
      const chomp = ends === 0 ? "-" : ends === 1 ? "" : "+";
      const lines = value.slice(0, value.length - ends).split("\n");
      const rest = source.endsWith("\n") ? "\n".repeat(Math.max(1, ends)) : "";
      const body = lines.map((l) => (l === "" ? "" : indent + l)).join("\n");
      return { literal: `${header.replace(/^\|[-+]?/, `|${chomp}`)}\n${body}${rest}`, read: value };
    }
    case "BLOCK_FOLDED":
      return {
        literal: `${quoted.literal}${text[((node.range as number[])[1] as number) - 1] === "\n" ? "\n" : ""}`,
        read: value,
      };
    default:
      return plainOr(value, flow);
  }
}

/** plainOr is a value as it is, if YAML reads it as one scalar then, or else in quotes. */
function plainOr(value: string, flow: boolean): { literal: string; read: Tree } {
  const doc = parseDocument(flow ? `[${value}]` : `k: ${value}`, { logLevel: "silent" });
  const node = doc.getIn(flow ? [0] : ["k"], true);
  const alone = !flow || (isSeq(doc.contents) && doc.contents.items.length === 1);
  const fine =
    doc.errors.length === 0 &&
    isScalar(node) &&
    node.type === "PLAIN" &&
    node.source === value &&
    !node.comment &&
    alone;
  return fine ? { literal: value, read: node.toJS(doc) as Tree } : { literal: JSON.stringify(value), read: value };
}

/** wordLiteral writes a value as one word of a list or of a mapping in one line: as it is, where that reads as one. */
export const wordLiteral = (value: string): string => plainOr(value, true).literal;

/** valueLiteral writes a value as people type it: as it is, where YAML reads it as one. */
export const valueLiteral = (value: string): string => plainOr(value, false).literal;

/** textLiteral writes a value so that YAML reads it as a text. */
export function textLiteral(value: string): string {
  const { literal, read } = plainOr(value, false);
  return read === value ? literal : JSON.stringify(value);
}

function pairOf(doc: Document, path: Path): Pair | undefined {
  const map = doc.getIn(path.slice(0, -1), true);
  return isMap(map) ? map.items.find((p) => isScalar(p.key) && p.key.value === path.at(-1)) : undefined;
}
