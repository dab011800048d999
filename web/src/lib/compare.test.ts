import { expect, test } from "vitest";
import type { TreeNode } from "./api";
import { pairs } from "./compare";

test("steps are paired by where they stand, those first whose times differ most", () => {
  const step = (name: string, seconds: number): TreeNode => ({
    id: name,
    kind: "step",
    name,
    status: "Success",
    startedAt: "2026-01-01T00:00:00Z",
    endedAt: `2026-01-01T00:00:${String(seconds).padStart(2, "0")}Z`,
  });
  const root = (...children: TreeNode[]): TreeNode => ({
    id: "p",
    kind: "pipeline",
    status: "Success",
    children: [{ id: "s", kind: "stage", name: "build", status: "Success", children }],
  });
  const got = pairs(
    root(step("a", 1), step("b", 2), step("gone", 1)),
    root(step("a", 2), step("b", 9), step("new", 1)),
  );
  expect(got.map((p) => [p.path, p.longer])).toEqual([
    ["build › b", 7000],
    ["build › a", 1000],
    ["build › gone", undefined],
    ["build › new", undefined],
  ]);
});
