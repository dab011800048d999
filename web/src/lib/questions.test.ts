import { expect, test } from "vitest";
import type { Question } from "./api";
import { apart, grouped, labelOf, refersTo } from "./questions";

const ask = (path: string, more: Partial<Question> = {}): Question => ({
  path,
  line: 1,
  required: true,
  help: "",
  ...more,
});

test("questions stand with their stage", () => {
  const all = [
    ask("variables.image"),
    ask("stages.deploy.spec.environment.environmentRef"),
    ask("timeout"),
    ask("stages.deploy.when"),
  ];
  expect(grouped(all).map((g) => [g.title, g.questions.map((q) => labelOf(q.path))])).toEqual([
    ["Pipeline", ["image", "timeout"]],
    ["Stage deploy", ["spec.environment.environmentRef", "when"]],
  ]);
});

test("a finding is of the question that has its path, or that it is within", () => {
  const { of, other } = apart(
    [ask("variables.tag"), ask("variables.tags")],
    [
      { message: "one", path: "pipeline.variables.tag" },
      { message: "two", path: "variables.tags.x" },
      { message: "three", path: "variables.tagging" },
      { message: "four" },
    ],
  );
  expect([...of].map(([path, f]) => [path, f.map((d) => d.message)])).toEqual([
    ["variables.tag", ["one"]],
    ["variables.tags", ["two"]],
  ]);
  expect(other.map((d) => d.message)).toEqual(["three", "four"]);
});

test("a question says what kind of thing its value names", () => {
  expect(refersTo(ask("variables.password", { type: "Secret" }))).toBe("secret");
  expect(refersTo(ask("stages.d.spec.environment.environmentRef"))).toBe("environment");
  expect(refersTo(ask("variables.environment"))).toBeUndefined();
});
