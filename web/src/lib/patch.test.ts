import { expect, test } from "vitest";
import { type Item, itemAt, type List, outline } from "./outline";
import {
  add,
  applied,
  type Edited,
  linesOf,
  mentions,
  move,
  moveTo,
  type Path,
  remove,
  rename,
  set,
  treeOf,
} from "./patch";

const made = (text: string, e: Edited) => ("change" in e ? applied(text, e.change) : `refused: ${e.refused}`);

const text = `pipeline: # ours
  name:   Press   # two blanks
  stages:

    # the first
    # stage
    - stage:
        identifier: a
        spec: {execution: {steps: [{step: {identifier: x}}]}}

    # not the second's

    - stage:
        identifier: b # of it
        spec:
          execution:
            steps:
            - step:
                identifier: y
                spec:
                  script: |-
                    # no comment
                    echo y
              # still the step's
            # before z
            - step:
                identifier: 'z'
  tags: {}
`;

test("a stage goes with the comment right above it, and nothing else does", () => {
  expect(made(text, remove(text, ["pipeline", "stages", 0]))).toBe(
    text.replace(/ {4}# the first[\s\S]*?steps: \[.*\n/, ""),
  );
});

test("steps change places with their comments and scripts", () => {
  const steps = ["pipeline", "stages", 1, "stage", "spec", "execution", "steps"];
  const swapped = made(text, move(text, [...steps, 1], 0));
  expect(swapped).toContain(`steps:
            # before z
            - step:
                identifier: 'z'
            - step:
                identifier: y
                spec:
                  script: |-
                    # no comment
                    echo y
              # still the step's
  tags`);
  expect(made(swapped, move(swapped, [...steps, 0], 1))).toBe(text);
});

test("the last of a list leaves an empty one, and a step can be put into that", () => {
  const one = "a:\n  steps: # all\n    - step: {b: c}\n  d: e\n";
  const none = made(one, remove(one, ["a", "steps", 0]));
  expect(none).toBe("a:\n  steps: [] # all\n  d: e\n");
  expect(made(none, add(none, ["a", "steps"], -1, "step:\n  b: c\n"))).toBe(
    "a:\n  steps: # all\n    - step:\n        b: c\n  d: e\n",
  );
});

test.each([
  ["name: Press", ["name"], "Ink", "name: Ink"],
  ["name: 'Press' # it", ["name"], "it's", "name: 'it''s' # it"],
  ['name: "Press"', ["name"], 'a "b"', 'name: "a \\"b\\""'],
  ["name: Press", ["name"], "a: b", 'name: "a: b"'],
  ["name: Press", ["name"], "a #b", 'name: "a #b"'],
  ["name: Press", ["name"], "<+input>", "name: <+input>"],
  ["a: {name: x, b: c}", ["a", "name"], "y, z", 'a: {name: "y, z", b: c}'],
  ["a: {b: c}", ["a", "name"], "x", "a: {b: c, name: x}"],
  ["name:", ["name"], "x", "name: x"],
  ["a:\n  b: c # it\n  # after\nd: e", ["a", "f"], "g", "a:\n  b: c # it\n  f: g\n  # after\nd: e"],
  ["s: |-\n  a\n  b\nt: u", ["s"], "c\n\nd", "s: |-\n  c\n\n  d\nt: u"],
  ["s: |-\n  a\nt: u", ["s"], "c\n", "s: |\n  c\nt: u"],
  ["s: |\n    a\n", ["s"], "c", "s: |-\n    c\n"],
  ["s: >-\n  a\n  b\nt: u", ["s"], "c d", 's: "c d"\nt: u'],
])("%j: %j becomes %j", (before, path, value, after) => {
  expect(made(before, set(before, path, value))).toBe(after);
});

test("a new identifier goes into the expressions that name the old one", () => {
  const doc = "a: {identifier: x}\nb: <+steps.x.output> <+steps.xy.output> <+execution.steps.x> steps.x\n";
  expect(mentions(doc, "x")).toBe(2);
  expect(made(doc, rename(doc, ["a", "identifier"], "x", "z"))).toBe(
    "a: {identifier: z}\nb: <+steps.z.output> <+steps.xy.output> <+execution.steps.z> steps.x\n",
  );
});

test("what would change something else, too, isn't done", () => {
  const shared = "a:\n  - &x {b: c}\n  - *x\n";
  expect(set(shared, ["a", 0, "b"], "d")).toHaveProperty("refused");
  expect(set("a: [", ["a"], "d")).toHaveProperty("refused");
  expect(remove("a: [{b: c}, {d: e}]", ["a", 0])).toHaveProperty("refused");
});

/** The repository's examples. */
const files: Record<string, string> = {
  ...import.meta.glob("../../../examples/**/*.{yaml,yml}", { query: "?raw", import: "default", eager: true }),
  ...import.meta.glob("../../../pkg/**/example.yaml", { query: "?raw", import: "default", eager: true }),
};

/** examples are those of their documents that have stages or steps. */
function examples(): [string, string][] {
  return Object.entries(files).flatMap(([path, text]) =>
    text
      .split(/^---.*\n/m)
      .map((doc, i): [string, string] => [`${path} ${i}`, doc])
      .filter(([, doc]) => (outline(doc)?.length ?? 0) > 0),
  );
}

/** every is each item of lists, with what is below it. */
const every = (lists: List[]): Item[] => lists.flatMap((l) => l.items.flatMap((i) => [i, ...every(i.lists)]));
const listsOf = (lists: List[]): List[] => lists.flatMap((l) => [l, ...l.items.flatMap((i) => listsOf(i.lists))]);

let seed = 11;
const random = (n: number) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * n);
};

/** generated is a document with stages and steps in one of the ways in which people write them. */
function generated(): string {
  const comment = (indent: string) => (random(3) === 0 ? `${indent}# ${random(100)}\n` : "");
  const blank = () => (random(4) === 0 ? "\n" : "");
  const step = (indent: string, n: number): string => {
    switch (random(4)) {
      case 0:
        return `${indent}- step: {name: "s ${n}", identifier: s${n}, type: Wait, spec: {duration: ${n}m}} # flow\n`;
      case 1:
        return `${indent}- step:\n${indent}    identifier: 's${n}' # id\n${indent}    name: S\n${comment(indent)}${indent}    type: ShellScript\n${indent}    spec:\n${indent}      script: |${["", "-"][random(2)]}\n${indent}        # not a comment\n\n${indent}        echo ${n}\n`;
      case 2:
        return `${indent}- stepGroup:\n${indent}    identifier: g${n}\n${indent}    steps:\n${step(`${indent}      `, n + 100)}`;
      default:
        return `${indent}- parallel:\n${step(`${indent}  `, n + 200)}${step(`${indent}    `.slice(2), n + 300)}`;
    }
  };
  const inset = ["", "  "][random(2)] as string;
  let out = `# top\npipeline:\n  identifier: p\n  stages:\n`;
  for (let s = 0; s <= random(3); s++) {
    out += `${blank()}${comment(`  ${inset}`)}  ${inset}- stage:\n      ${inset}identifier: st${s}\n      ${inset}spec:\n        ${inset}execution:\n          ${inset}steps:\n`;
    for (let n = 0; n <= random(4); n++)
      out += `${blank()}${comment(`          ${inset}`)}${step(`          ${inset}`, n)}`;
  }
  return `${out}${blank()}  tags: {a: b}\n${comment("")}`;
}

const sorted = (t: string) => t.split("\n").sort().join("\n");

/** some are a few of many, others each time. */
const some = <T>(of: T[], n: number): T[] =>
  Array.from({ length: Math.min(n, of.length) }, () => of[random(of.length)] as T);

/** tried makes every kind of edit at some items and lists, and says how many were made. */
function tried(name: string, doc: string): number {
  const found = outline(doc) as List[];
  let count = 0;
  const outside = (path: Path, after: string) => {
    const [from, to] = linesOf(doc, path) as readonly [number, number];
    const lines = doc.split("\n");
    const rest = lines.length - to;
    expect(after.split("\n").slice(0, from), name).toEqual(lines.slice(0, from));
    expect(after.split("\n").slice(-rest), name).toEqual(lines.slice(-rest));
  };
  for (const i of some(every(found), 1)) {
    if (i.identifier !== "") {
      const renamed = set(doc, [...i.body, "name"], `N: ${random(99)}`);
      expect(renamed, `${name} ${i.path.join(".")}`).toHaveProperty("change");
      const after = made(doc, renamed);
      if (linesOf(doc, i.path)) outside(i.path, after);
      expect(outline(after), name).toBeDefined();
      count++;
    }
    if (!linesOf(doc, i.path)) continue;
    const gone = remove(doc, i.path);
    if ("change" in gone) {
      const after = made(doc, gone);
      const [from, to] = linesOf(doc, i.path) as readonly [number, number];
      const lines = doc.split("\n");
      const left = [...lines.slice(0, from), ...lines.slice(to)];
      const differ = after.split("\n").filter((l, n) => l !== left[n]);
      expect(differ.length, name).toBeLessThanOrEqual(1); // "steps: []"
      count++;
    }
  }
  for (const l of some(listsOf(found), 1)) {
    for (const n of some([...l.items.keys()], 1)) {
      if (n > 0 && linesOf(doc, [...l.path, n]) && linesOf(doc, [...l.path, n - 1])) {
        const after = made(doc, move(doc, [...l.path, n], n - 1));
        expect(sorted(after), name).toBe(sorted(doc));
        expect(made(after, move(after, [...l.path, n - 1], n)).split("\n").length).toBe(doc.split("\n").length);
        count++;
      }
    }
    if (linesOf(doc, [...l.path, 0])) {
      const item = "step:\n  name: New\n  identifier: new_one\n  spec:\n    script: |-\n      a\n\n      b";
      const after = made(doc, add(doc, l.path, l.items.length - 1, item));
      const lines = new Set(after.split("\n"));
      for (const line of doc.split("\n")) expect(lines.has(line), name).toBe(true);
      expect(after.split("\n").length, name).toBe(doc.split("\n").length + 8);
      count++;
    }
  }
  return count;
}

test("edits of the repository's examples change the lines of what is edited, and no other", () => {
  const all = examples();
  expect(all.length).toBeGreaterThan(50);
  let count = 0;
  for (const [name, doc] of all) count += tried(name, doc);
  expect(count).toBeGreaterThan(80);
}, 60_000);

test("edits of generated documents change the lines of what is edited, and no other", () => {
  let count = 0;
  for (let n = 0; n < 30; n++) {
    const doc = generated();
    expect(treeOf(doc), doc).toBeDefined();
    count += tried(doc, doc);
  }
  expect(count).toBeGreaterThan(80);
}, 60_000);

test("the outline knows what stands at a place", () => {
  const found = outline(text) as List[];
  expect(itemAt(found, text.indexOf("echo y"))?.identifier).toBe("y");
  expect(itemAt(found, text.indexOf("identifier: b"))?.identifier).toBe("b");
  expect(itemAt(found, 0)).toBeUndefined();
});

const twoStages = `pipeline:
  stages:
    - stage:
        identifier: a
        spec:
          execution:
            steps:
              - step: {identifier: one}
              # what it is for
              - step:
                  identifier: two
                  spec:
                    script: |-
                      echo 1

                        echo 2
              - step: {identifier: three} # last
    - stage:
        identifier: b
        spec:
          execution:
            steps:
            - step: {identifier: four}

    - stage:
        identifier: c
        spec:
          execution:
            steps: []
`;
const stepsOf = (n: number) => ["pipeline", "stages", n, "stage", "spec", "execution", "steps"];

test("an item moves to another list with its comment and its lines, in both directions", () => {
  const there = moveTo(twoStages, [...stepsOf(0), 1], stepsOf(1));
  if ("refused" in there) throw new Error(there.refused);
  const moved = applied(twoStages, there.change);
  expect(moved).toContain(`            - step: {identifier: four}
            # what it is for
            - step:
                identifier: two
                spec:
                  script: |-
                    echo 1

                      echo 2
`);
  expect(moved).toContain(
    "              - step: {identifier: one}\n              - step: {identifier: three} # last\n",
  );
  const back = moveTo(moved, [...stepsOf(1), 1], stepsOf(0));
  if ("refused" in back) throw new Error(back.refused);
  expect(applied(moved, back.change).split("\n").sort()).toEqual(twoStages.split("\n").sort());
});

test("what can't be moved to another list says why, and changes nothing", () => {
  for (const [path, list, why] of [
    [[...stepsOf(1), 0], stepsOf(0), "it is the last one in its list, which can't be empty"],
    [[...stepsOf(0), 0], stepsOf(2), "the other list is empty; add something to it first"],
    [["pipeline", "stages", 0], stepsOf(0), "it can't be moved into itself"],
    [[...stepsOf(0), 0], ["pipeline", "nothing"], "the list is written in one line; change it in the text"],
  ] as const)
    expect(moveTo(twoStages, path, list), why).toEqual({ refused: why });
});
