import { call, Problem, part, type Schemas, type Scope } from "./api";

/** What an agent answers isn't in the API's description; these are the shapes of it that the console shows. */
export interface Key {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface Node extends Key {
  uid?: string;
  parentRefs?: (Key & { uid?: string })[];
  info?: { name: string; value: string }[];
  images?: string[];
  health?: { status?: string; message?: string };
  createdAt?: string;
  status?: string;
  hook?: boolean;
}

export interface Tree {
  nodes: Node[];
  orphanedNodes?: Node[];
  omitted?: number;
}

export interface Difference extends Key {
  text?: string;
  message?: string;
  prune?: boolean;
  cut?: boolean;
}

export interface Manifest extends Key {
  text?: string;
  cut?: boolean;
}

export interface Event {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
}

/** nameOfKey names an object as people do: Deployment shop/web. */
export function nameOfKey(k: Key): string {
  return `${k.kind} ${k.namespace ? `${k.namespace}/` : ""}${k.name}`;
}

/** textOfKey names an object in an address; keyOfText reads it. */
export const textOfKey = (k: Key): string => [k.group ?? "", k.kind, k.namespace ?? "", k.name].join("/");

export function keyOfText(text: string): Key | undefined {
  const [group, kind, namespace, name] = text.split("/");
  return kind && name ? { group, kind, namespace, name } : undefined;
}

/** An object of a tree, and how deep it is in it. */
export interface Row {
  node: Node;
  depth: number;
}

/** rowsOf has a tree's objects in the order in which they are drawn: each before what it owns. */
export function rowsOf(tree: Tree): Row[] {
  const all = [...tree.nodes, ...(tree.orphanedNodes ?? [])];
  const ids = new Map(all.map((n) => [n.uid || textOfKey(n), n]));
  const above = (n: Node) =>
    n.parentRefs?.map((p) => p.uid || textOfKey(p)).find((id) => ids.get(id) !== n && ids.has(id));
  const below = new Map<string, Node[]>();
  for (const n of all) {
    const id = above(n) ?? "";
    below.set(id, [...(below.get(id) ?? []), n]);
  }
  const rows: Row[] = [];
  const drawn = new Set<Node>();
  const draw = (n: Node, depth: number) => {
    if (drawn.has(n)) return;
    drawn.add(n);
    rows.push({ node: n, depth });
    for (const child of below.get(n.uid || textOfKey(n)) ?? []) draw(child, depth + 1);
  };
  for (const n of below.get("") ?? []) draw(n, 0);
  for (const n of all) draw(n, 0); // those that own each other
  return rows;
}

/** wrong says whether an object isn't as it is to be. */
export function wrong(n: Node): boolean {
  return (n.status !== undefined && n.status !== "Synced") || (n.health?.status ?? "Healthy") !== "Healthy";
}

/** onlyWrong keeps what isn't as it is to be, and what that belongs to. */
export function onlyWrong(rows: Row[]): Row[] {
  const kept = new Set<Row>();
  const path: Row[] = [];
  for (const row of rows) {
    path.length = row.depth;
    path.push(row);
    if (wrong(row.node)) for (const r of path) kept.add(r);
  }
  return rows.filter((r) => kept.has(r));
}

/** An application of an agent, for requests. */
export interface Of {
  scope: Scope;
  agent: string;
  name: string;
  set?: boolean;
}

export function pathOfApp({ agent, name, set }: Of): string {
  return `/v1/gitops/${set ? "applicationsets" : "applications"}/${part(agent)}/${part(name)}`;
}

interface Asked {
  method?: string;
  json?: unknown;
  signal?: AbortSignal;
  /** For how long an answer is waited for, in milliseconds; without it for as long as the page is there. */
  patience?: number;
}

/**
 * ask asks the agent, and gives what it answers. It is undefined when the patience ends before: the agent does it when
 * it is there again.
 */
export async function ask<T>(
  of: Of,
  what: string,
  { method = "POST", json, signal, patience }: Asked,
): Promise<T | undefined> {
  const query = { ...of.scope };
  let asked = await call<Schemas["GitOpsRequest"]>(`${pathOfApp(of)}/${what}`, { method, query, json, signal });
  const begun = Date.now();
  for (let wait = 100; !asked.result; wait = Math.min(wait * 1.5, 2000)) {
    if (patience !== undefined && Date.now() - begun > patience) return undefined;
    await new Promise((resolve) => setTimeout(resolve, wait));
    asked = await call(`${pathOfApp(of)}/requests/${part(asked.id)}`, { query, signal });
  }
  const { failed, busy, message, data } = asked.result;
  if (failed || busy) throw new Problem(409, message ?? "The agent is busy with something else.");
  return data as T;
}
