import type { TreeNode } from "./api";
import { title } from "./tree";

/** Line is one of two texts: in both, or in one of them alone. */
export interface Line {
  in: "both" | "before" | "after";
  text: string;
}

/** The most lines of which each is compared with each. */
const most = 2000;

/** compared is two texts line by line, with as few differences as there can be. */
export function compared(before: string, after: string): Line[] {
  const a = linesOf(before);
  const b = linesOf(after);
  if (a.length > most || b.length > most) {
    return [...a.map((text): Line => ({ in: "before", text })), ...b.map((text): Line => ({ in: "after", text }))];
  }
  // common[i][j] is how many lines the texts from i and from j on have in common, in their order.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ in: "both", text: a[i++] ?? "" });
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      out.push({ in: "before", text: a[i++] ?? "" });
    } else {
      out.push({ in: "after", text: b[j++] ?? "" });
    }
  }
  return out;
}

const linesOf = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

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
