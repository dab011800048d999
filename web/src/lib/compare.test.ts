import { expect, test } from "vitest";
import type { TreeNode } from "./api";
import { compared, pairs } from "./compare";

const shown = (before: string, after: string) =>
  compared(before, after)
    .map((l) => `${{ both: " ", before: "-", after: "+" }[l.in]}${l.text}`)
    .join("\n");

test("two texts are compared line by line", () => {
  expect(shown("a\nb\nc\n", "a\nx\nc\nd\n")).toBe(" a\n-b\n+x\n c\n+d");
  expect(shown("", "a\n")).toBe("+a");
  expect(shown("a\n", "")).toBe("-a");
  expect(shown("same\n", "same\n")).toBe(" same");
});

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
