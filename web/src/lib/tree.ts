import type { ExecutionChange, ExecutionTree, TreeNode } from "./api";
import { ended, lookOf } from "./status";

/** A row of the tree as it is shown. */
export interface Row {
  node: TreeNode;
  depth: number;
  /** undefined: it has no children */
  open?: boolean;
  /** of those beside it, from 1 */
  position: number;
  siblings: number;
}

/** How many children a node may have and still be open at first. */
const crowd = 50;

/** shut says whether a node is closed until somebody opens it. */
export function shut(n: TreeNode): boolean {
  const children = n.children?.length ?? 0;
  return children > crowd || (n.hidden !== undefined && children === 0);
}

/** visible is the row's own title. */
export function title(n: TreeNode): string {
  return n.name || n.identifier || (n.kind === "parallel" ? "In parallel" : n.kind);
}

/** rows are the nodes below the root that are to be seen. toggled says of those that somebody has opened or closed
 * which it is. */
export function rows(root: TreeNode, toggled: ReadonlyMap<string, boolean>): Row[] {
  const out: Row[] = [];
  const walk = (children: TreeNode[], depth: number) => {
    children.forEach((node, i) => {
      const parent = (node.children?.length ?? 0) > 0 || node.hidden !== undefined;
      const open = parent ? (toggled.get(node.id) ?? !shut(node)) : undefined;
      out.push({ node, depth, open, position: i + 1, siblings: children.length });
      if (open) walk(inOrder(node), depth + 1);
    });
  };
  walk(inOrder(root), 0);
  return out;
}

/** inOrder has the failed ones of a crowd first. */
function inOrder(n: TreeNode): TreeNode[] {
  const all = n.children ?? [];
  if (n.kind !== "strategy" || all.length <= crowd) return all;
  const failed = all.filter((c) => lookOf(c.status).counts === "failed");
  return failed.length === 0 ? all : [...failed, ...all.filter((c) => lookOf(c.status).counts !== "failed")];
}

/** each visits a node and all below it. */
export function each(n: TreeNode, visit: (n: TreeNode, above: TreeNode[]) => void, above: TreeNode[] = []) {
  visit(n, above);
  const path = [...above, n];
  for (const c of n.children ?? []) each(c, visit, path);
}

/** find gives a node by its id, with those above it. */
export function find(root: TreeNode, id: string): { node: TreeNode; above: TreeNode[] } | undefined {
  let found: { node: TreeNode; above: TreeNode[] } | undefined;
  each(root, (node, above) => {
    if (node.id === id) found = { node, above };
  });
  return found;
}

/** Failure is a node that failed by itself, not by what is below it. */
export interface Failure {
  node: TreeNode;
  above: TreeNode[];
}

/** failures are the nodes that failed by themselves, in the order of time. */
export function failures(root: TreeNode): Failure[] {
  const out: Failure[] = [];
  each(root, (node, above) => {
    if (lookOf(node.status).counts !== "failed") return;
    if ((node.children ?? []).some((c) => below(c))) return;
    out.push({ node, above });
  });
  return out.sort((a, b) => (a.node.endedAt ?? "").localeCompare(b.node.endedAt ?? ""));
}

function below(n: TreeNode): boolean {
  return lookOf(n.status).counts === "failed" || (n.children ?? []).some(below);
}

/** same groups failures that say the same. */
export function same(all: Failure[]): { first: Failure; count: number }[] {
  const groups = new Map<string, { first: Failure; count: number }>();
  for (const f of all) {
    const key = `${f.node.identifier?.replace(/_\d+$/, "")} ${f.node.message}`;
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { first: f, count: 1 });
  }
  return [...groups.values()];
}

/** opening is the node that a page without one in its address shows: what failed first, else what waits for
 * a person, else what began last. */
export function opening(tree: ExecutionTree): TreeNode | undefined {
  const failed = failures(tree.root)[0];
  if (failed) return failed.node;
  let waiting: TreeNode | undefined;
  let latest: TreeNode | undefined;
  each(tree.root, (n) => {
    if (n.kind === "pipeline" || (n.children?.length ?? 0) > 0) return;
    if (!waiting && ["ApprovalWaiting", "InterventionWaiting", "InputWaiting"].includes(n.status)) waiting = n;
    if (n.startedAt && n.status !== "Skipped" && (!latest?.startedAt || n.startedAt >= latest.startedAt)) latest = n;
  });
  return waiting ?? latest;
}

/** changed is a tree after a change; nodes that aren't in it stay the very same objects. */
export function changed(tree: ExecutionTree, c: ExecutionChange): ExecutionTree {
  const news = new Map(c.nodes.map((n) => [n.id, n]));
  const apply = (n: TreeNode): TreeNode => {
    const children = n.children?.map(apply);
    const other = children?.some((child, i) => child !== n.children?.[i]);
    const next = news.get(n.id);
    if (!next && !other) return n;
    return { ...(next ?? n), children };
  };
  return { ...tree, ...c.execution, root: apply(tree.root) };
}

/** stagesOf are the stages of a pipeline itself, those in parallel included. */
export function stagesOf(root: TreeNode): TreeNode[] {
  const out: TreeNode[] = [];
  for (const n of root.children ?? []) {
    if (n.kind === "parallel" || n.kind === "strategy") out.push(...stagesOf(n));
    else if (n.kind === "stage" && !n.rollback && !out.some((s) => s.identifier === n.identifier)) out.push(n);
  }
  return out;
}

/** grown is a tree with more children of a node, which an answer before had no room for. */
export function grown(root: TreeNode, id: string, more: TreeNode): TreeNode {
  if (root.id === id) {
    const known = new Set((root.children ?? []).map((c) => c.id));
    const added = (more.children ?? []).filter((c) => !known.has(c.id));
    return { ...root, children: [...(root.children ?? []), ...added], hidden: more.hidden };
  }
  const children = root.children?.map((c) => grown(c, id, more));
  return children?.some((c, i) => c !== root.children?.[i]) ? { ...root, children } : root;
}

/** summary is what a node with many below it says of them: 912 of 1,000 done, 3 failed. */
export function summary(n: TreeNode): string {
  const counts = new Map<string, number>();
  const add = (status: string, k: number) => {
    const c = lookOf(status).counts;
    counts.set(c, (counts.get(c) ?? 0) + k);
  };
  for (const c of n.children ?? []) add(c.status, 1);
  const total = (n.children?.length ?? 0) + (n.hidden?.nodes ?? 0);
  for (const [status, k] of Object.entries(n.hidden?.statuses ?? {})) add(status, k);
  const over = [...counts]
    .filter(([c]) => c !== "pending" && c !== "running" && c !== "waiting")
    .reduce((s, [, k]) => s + k, 0);
  const failed = counts.get("failed") ?? 0;
  const number = new Intl.NumberFormat("en");
  return `${number.format(over)} of ${number.format(total)} done${failed ? `, ${number.format(failed)} failed` : ""}`;
}

export { ended };
