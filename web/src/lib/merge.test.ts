import { expect, test } from "vitest";
import { joined, merge } from "./merge";

const lines = (text: string) => `${text.split(" ").join("\n")}\n`;
const kinds = (base: string, mine: string, theirs: string) =>
  merge(lines(base), lines(mine), lines(theirs)).map((p) => p.kind);

test("what one side alone has changed isn't asked about", () => {
  const parts = merge(lines("a b c d e"), lines("a B c d e"), lines("a b c d x e"));
  expect(parts.map((p) => p.kind)).toEqual(["same", "mine", "same", "theirs", "same"]);
  expect(joined(parts, [])).toBe(lines("a B c d x e"));
});

test("what both have changed alike is no conflict", () => {
  expect(kinds("a b c", "a x c", "a x c")).toEqual(["same", "both", "same"]);
});

test("what both have changed differently is chosen, and either or both can be had", () => {
  const parts = merge(lines("a b c"), lines("a x c"), lines("a y c"));
  expect(parts.map((p) => p.kind)).toEqual(["same", "conflict", "same"]);
  expect(joined(parts, [])).toBeUndefined();
  expect(joined(parts, ["mine"])).toBe(lines("a x c"));
  expect(joined(parts, ["theirs"])).toBe(lines("a y c"));
  expect(joined(parts, ["both"])).toBe(lines("a x y c"));
});

test("what one has deleted and the other changed is a conflict", () => {
  expect(kinds("a b c", "a c", "a x c")).toEqual(["same", "conflict", "same"]);
});

test("a text against itself, and an end without a newline", () => {
  expect(joined(merge("a\nb", "a\nb", "a\nb"), [])).toBe("a\nb");
  expect(joined(merge("a\nb", "a\nb\n", "a\nb"), [])).toBe("a\nb\n");
  expect(joined(merge("", "a\n", ""), [])).toBe("a\n");
});

test("every line of both sides is in the parts, and one side alone gives that side", () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  const edit = (text: string[]) => {
    const out = [...text];
    for (let n = random(4); n > 0; n--)
      out.splice(random(out.length + 1), random(3), ...[`n${random(9)}`].slice(random(2)));
    return out;
  };
  for (let round = 0; round < 500; round++) {
    const base = Array.from({ length: random(12) }, () => `l${random(5)}`);
    const [mine, theirs] = [edit(base), edit(base)];
    const [b, m, t] = [base, mine, theirs].map((x) => x.join("\n")) as [string, string, string];
    const parts = merge(b, m, t);
    const side = (of: "mine" | "theirs") =>
      parts
        .flatMap((p) =>
          p.kind === "conflict" ? p[of] : p.kind === of || p.kind === "same" || p.kind === "both" ? p.lines : p.base,
        )
        .join("\n");
    expect(side("mine")).toBe(m);
    expect(side("theirs")).toBe(t);
    expect(joined(merge(b, m, b), [])).toBe(m);
    expect(joined(merge(b, b, t), [])).toBe(t);
  }
});
