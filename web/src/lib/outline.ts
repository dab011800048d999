import { isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from "yaml";
import type { Path } from "./patch";

/** A stage, a step, a group of steps or what runs beside each other, as the graph shows it. */
export interface Item {
  kind: "stage" | "step" | "stepGroup" | "parallel" | "other";
  /** Where it is in its list, e.g. pipeline, stages, 0. */
  path: Path;
  /** Where its keys are: below stage, step or stepGroup. */
  body: Path;
  name: string;
  identifier: string;
  type: string;
  /** From where to where it stands in the text. */
  from: number;
  to: number;
  /** Its keys with one value each, by their paths below the body, but for what stands in its lists. */
  fields: Field[];
  /** The names of its variables, of a stage, and of what it puts out, of a step. */
  variables: string[];
  outputs: string[];
  lists: List[];
}

export interface Field {
  path: string[];
  value: string;
}

/** A list of items: a pipeline's stages, or a stage's or a group's steps. */
export interface List {
  title: string;
  /** What its items are. */
  of: "stage" | "step";
  path: Path;
  items: Item[];
  /** The names of the variables beside it. */
  variables: string[];
}

/** outline reads the stages and steps of a document; undefined: the text can't be read, or has none. */
export function outline(text: string): List[] | undefined {
  const doc = parseDocument(text, { logLevel: "silent" });
  if (doc.errors.length > 0) return undefined;
  const get = (...path: Path) => doc.getIn(path, true);
  if (isMap(get("pipeline"))) return lists(get("pipeline"), ["pipeline"], "pipeline");
  switch (doc.getIn(["template", "type"])) {
    case "Pipeline":
      return lists(get("template", "spec"), ["template", "spec"], "pipeline");
    case "Stage":
      return lists(get("template", "spec"), ["template", "spec"], "stage");
    case "StepGroup":
      return lists(get("template", "spec"), ["template", "spec"], "stepGroup");
    default:
      return undefined;
  }
}

/** Where the lists of a kind of thing are, below its keys. */
const places: Record<string, [title: string, of: "stage" | "step", path: string[]][]> = {
  pipeline: [["Stages", "stage", ["stages"]]],
  stage: [
    ["Steps", "step", ["spec", "execution", "steps"]],
    ["Rollback steps", "step", ["spec", "execution", "rollbackSteps"]],
  ],
  stepGroup: [
    ["Steps", "step", ["steps"]],
    ["Rollback steps", "step", ["rollbackSteps"]],
  ],
};

function lists(body: unknown, at: Path, kind: string): List[] {
  if (!isMap(body)) return [];
  return (places[kind] ?? []).flatMap(([title, of, path]) => {
    const found = body.getIn(path, true);
    const here = [...at, ...path];
    return isSeq(found)
      ? [
          {
            title,
            of,
            path: here,
            items: found.items.map((n, i) => item(n, [...here, i], of)),
            variables: namesIn(body, ["variables"]),
          },
        ]
      : [];
  });
}

/** namesIn are the names of the items of a list. */
function namesIn(body: YAMLMap, path: string[]): string[] {
  const list = body.getIn(path, true);
  return isSeq(list) ? list.items.flatMap((i) => (isMap(i) ? [wordAt(i, "name")] : [])).filter(Boolean) : [];
}

const kinds = ["stage", "step", "stepGroup", "parallel"] as const;

function item(node: unknown, path: Path, of: "stage" | "step"): Item {
  const range = (node as Node | null)?.range ?? [0, 0, 0];
  const none = {
    path,
    body: path,
    name: "",
    identifier: "",
    type: "",
    from: range[0],
    to: range[1],
    fields: [],
    variables: [],
    outputs: [],
    lists: [],
  };
  if (!isMap(node)) return { ...none, kind: "other", name: "something else" };
  const kind = kinds.find((k) => node.has(k));
  if (!kind) return { ...none, kind: "other", name: wordAt(node, "insert") || "something else" };
  const inner = node.get(kind, true);
  const body = [...path, kind];
  if (kind === "parallel") {
    const items = isSeq(inner) ? inner.items.map((n, i) => item(n, [...body, i], of)) : [];
    return {
      ...none,
      kind,
      body,
      name: "Beside each other",
      lists: [{ title: "", of, path: body, items, variables: [] }],
    };
  }
  if (!isMap(inner)) return { ...none, kind, body, name: "something else" };
  const template = inner.get("template", true);
  return {
    ...none,
    kind,
    body,
    name: wordAt(inner, "name") || wordAt(inner, "identifier") || kind,
    identifier: wordAt(inner, "identifier"),
    type: isMap(template)
      ? `template ${wordAt(template, "templateRef")}`
      : kind === "stepGroup"
        ? "group"
        : wordAt(inner, "type"),
    fields: fieldsOf(inner, []),
    variables: namesIn(inner, ["variables"]),
    outputs: namesIn(inner, ["spec", "outputVariables"]),
    lists: lists(inner, body, kind),
  };
}

/** fieldsOf are the values of a mapping and of those in it. What is in lists is edited in the text. */
function fieldsOf(map: YAMLMap, above: string[]): Field[] {
  return map.items.flatMap(({ key, value }): Field[] => {
    if (!isScalar(key)) return [];
    const path = [...above, String(key.value)];
    if (isMap(value)) return fieldsOf(value, path);
    return isScalar(value) || value === null
      ? [{ path, value: isScalar(value) && value.value !== null ? String(value.source ?? value.value) : "" }]
      : [];
  });
}

function wordAt(map: YAMLMap, key: string): string {
  const node = map.get(key, true);
  return isScalar(node) && node.value !== null ? String(node.value) : "";
}

/** find is the item at a path. */
export function find(of: List[], path: Path): Item | undefined {
  const wanted = path.join(".");
  for (const i of of.flatMap((l) => l.items)) {
    if (i.path.join(".") === wanted) return i;
    const below = find(i.lists, path);
    if (below) return below;
  }
  return undefined;
}

/** itemAt is the innermost item that stands at a place of the text. */
export function itemAt(of: List[], at: number): Item | undefined {
  for (const i of of.flatMap((l) => l.items)) {
    if (at >= i.from && at <= i.to) return itemAt(i.lists, at) ?? i;
  }
  return undefined;
}
