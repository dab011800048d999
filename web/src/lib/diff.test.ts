import { expect, test } from "vitest";
import { diff } from "./diff";

test("a difference has what went and what came, in the order of the lines", () => {
  for (const [before, after, want] of [
    ["a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c"],
    ["", "a\nb\n", "+a\n+b"],
    ["", "a\n", "+a"],
    ["a\n", "", "-a"],
    ["a\nb\nc\n", "a\nx\nc\nd\n", " a\n-b\n+x\n c\n+d"],
    ["a\nb\nc\nd", "b\nc\nnew\nd\ne", "-a\n b\n c\n+new\n d\n+e"],
    ["same\n", "same\n", " same"],
  ] as const)
    expect(diff(before, after)).toBe(want);
});

test("of much that is other all goes and all comes", () => {
  const lines = (of: string) => Array.from({ length: 3000 }, (_, i) => of + i).join("\n");
  expect(diff(lines("a"), lines("b")).split("\n").length).toBe(6000);
});
