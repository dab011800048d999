import type { TreeNode } from "./api";
import { title } from "./tree";

/** Pair is the same step of two executions. */
export interface Pair {
  path: string;
  before?: TreeNode;
  after?: TreeNode;
  /** by how many milliseconds it took longer in the second; undefined: that can't be said */
  longer?: number;
}

/** pairs are the steps of two executions, those first whose times differ most. */
export function pairs(before: TreeNode, after: TreeNode): Pair[] {
  const out = new Map<string, Pair>();
  const walk = (n: TreeNode, above: string, side: "before" | "after") => {
    for (const c of n.children ?? []) {
      const path = c.kind === "parallel" ? above : `${above}${above && " › "}${title(c)}`;
      if (c.kind === "step") out.set(path, { ...(out.get(path) ?? { path }), [side]: c });
      walk(c, path, side);
    }
  };
  walk(before, "", "before");
  walk(after, "", "after");
  for (const p of out.values()) {
    const [a, b] = [took(p.before), took(p.after)];
    if (a !== undefined && b !== undefined) p.longer = b - a;
  }
  return [...out.values()].sort((p, q) => Math.abs(q.longer ?? 0) - Math.abs(p.longer ?? 0));
}

function took(n: TreeNode | undefined): number | undefined {
  return n?.startedAt && n.endedAt ? Date.parse(n.endedAt) - Date.parse(n.startedAt) : undefined;
}
