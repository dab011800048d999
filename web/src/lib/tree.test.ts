import { expect, test } from "vitest";
import type { ExecutionTree, TreeNode } from "./api";
import { changed, failures, find, grown, opening, rows, same, summary } from "./tree";

function node(id: string, status: string, more: Partial<TreeNode> = {}): TreeNode {
  return { id, kind: more.children ? "stage" : "step", identifier: id, status, ...more } as TreeNode;
}

const legs = (n: number, failed: number[]) =>
  Array.from({ length: n }, (_, i) =>
    node(`leg_${i}`, failed.includes(i) ? "Failed" : "Success", {
      message: failed.includes(i) ? "no disk" : undefined,
      endedAt: `2026-01-01T00:00:${10 + (i % 50)}Z`,
    }),
  );

const tree = (root: TreeNode, status = "Failed") => ({ id: "x", status, root }) as ExecutionTree;

test("what failed by itself is told, in the order of time", () => {
  const root = node("p", "Failed", {
    children: [
      node("s1", "Failed", {
        endedAt: "2026-01-01T00:00:09Z",
        children: [node("late", "Failed", { endedAt: "2026-01-01T00:00:08Z" })],
      }),
      node("s2", "Failed", {
        endedAt: "2026-01-01T00:00:05Z",
        children: [node("ok", "Success"), node("early", "Expired", { endedAt: "2026-01-01T00:00:03Z" })],
      }),
      node("s3", "ApprovalRejected", { endedAt: "2026-01-01T00:00:07Z" }),
    ],
  });
  expect(failures(root).map((f) => f.node.id)).toEqual(["early", "s3", "late"]);
  expect(failures(root)[0]?.above.map((n) => n.id)).toEqual(["p", "s2"]);
  expect(opening(tree(root))?.id).toBe("early");
});

test("iterations that failed alike are one", () => {
  const root = node("p", "Failed", {
    children: [node("loop", "Failed", { kind: "strategy", children: legs(40, [3, 4, 9]) })],
  });
  expect(same(failures(root)).map((g) => [g.first.node.id, g.count])).toEqual([["leg_3", 3]]);
});

test("a page begins with what waits for somebody, else with what began last", () => {
  const children = [
    node("a", "Success", { startedAt: "2026-01-01T00:00:01Z" }),
    node("b", "ApprovalWaiting", { startedAt: "2026-01-01T00:00:02Z" }),
    node("c", "Running", { startedAt: "2026-01-01T00:00:03Z" }),
    node("d", "NotStarted"),
  ];
  expect(opening(tree(node("p", "Running", { children }), "Running"))?.id).toBe("b");
  children[1] = node("b", "Success", { startedAt: "2026-01-01T00:00:02Z" });
  expect(opening(tree(node("p", "Running", { children }), "Running"))?.id).toBe("c");
  expect(opening(tree(node("p", "Running", { children: [] }), "Running"))).toBeUndefined();
});

test("crowds are closed at first, and have their failures first", () => {
  const loop = node("loop", "Failed", { kind: "strategy", children: legs(1000, [500, 700]) });
  const root = node("p", "Failed", { children: [node("s", "Failed", { children: [loop] })] });
  expect(rows(root, new Map()).map((r) => r.node.id)).toEqual(["s", "loop"]);
  const open = rows(root, new Map([["loop", true]]));
  expect(open).toHaveLength(1002);
  expect(open.slice(2, 5).map((r) => r.node.id)).toEqual(["leg_500", "leg_700", "leg_0"]);
  expect(open[2]).toMatchObject({ depth: 2, position: 1, siblings: 1000, open: undefined });
  expect(rows(root, new Map([["s", false]])).map((r) => r.node.id)).toEqual(["s"]);
  expect(summary(loop)).toBe("1,000 of 1,000 done, 2 failed");
  expect(summary({ ...loop, hidden: { nodes: 500, from: 1000, statuses: { NotStarted: 499, Failed: 1 } } })).toBe(
    "1,001 of 1,500 done, 3 failed",
  );
});

test("what an answer had no room for is closed, and stays open once it was opened and read", () => {
  const unread = node("loop", "Running", { kind: "strategy", hidden: { nodes: 30, from: 0 } });
  const of = (loop: TreeNode) => node("p", "Running", { children: [loop] });
  expect(rows(of(unread), new Map())).toMatchObject([{ open: false }]);
  const opened = new Map([["loop", true]]);
  const read = { ...unread, children: legs(30, []), hidden: undefined };
  expect(rows(of(read), opened)).toHaveLength(31);
  expect(rows(of(read), opened)[0]).toMatchObject({ open: true });
});

test("a change leaves all else as it was", () => {
  const before = tree(
    node("p", "Running", {
      children: [
        node("s1", "Success", { children: [node("a", "Success")] }),
        node("s2", "Running", { children: [node("b", "Running")] }),
      ],
    }),
    "Running",
  );
  const after = changed(before, { execution: { ...before, status: "Success" }, nodes: [node("b", "Success")] });
  expect(after.status).toBe("Success");
  expect(find(after.root, "b")?.node.status).toBe("Success");
  expect(after.root.children?.[0]).toBe(before.root.children?.[0]);
  expect(after.root.children?.[1]).not.toBe(before.root.children?.[1]);
  const nothing = changed(before, { execution: before, nodes: [] });
  expect(nothing.root).toBe(before.root);
});

test("more children come after those that there are, once", () => {
  const root = node("p", "Running", {
    children: [node("loop", "Running", { children: legs(2, []), hidden: { nodes: 3, from: 2 } })],
  });
  const more = node("loop", "Running", { children: legs(4, []).slice(1), hidden: { nodes: 1, from: 4 } });
  const now = grown(root, "loop", more);
  expect(now.children?.[0]?.children?.map((c) => c.id)).toEqual(["leg_0", "leg_1", "leg_2", "leg_3"]);
  expect(now.children?.[0]?.hidden).toEqual({ nodes: 1, from: 4 });
});

test("ten thousand nodes take no time", () => {
  const stages = Array.from({ length: 10 }, (_, s) =>
    node(`s${s}`, "Success", {
      children: Array.from({ length: 40 }, (_, g) =>
        node(`s${s}g${g}`, "Success", {
          children: Array.from({ length: 25 }, (_, i) => node(`s${s}g${g}i${i}`, "Success")),
        }),
      ),
    }),
  );
  const root = node("p", "Success", { children: stages });
  expect(rows(root, new Map())).toHaveLength(10 + 400 + 10_000);
});
