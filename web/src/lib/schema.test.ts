import { expect, test } from "vitest";
import schemas from "../../../pkg/schema/schemas.json";
import { helpAt, placeAt, proposals, type Schema, wordsAt } from "./schema";

const root = schemas as unknown as Schema;
const examples: Record<string, string> = import.meta.glob("../../../pkg/step/**/example.yaml", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** at has what is proposed at the | of a text. */
function at(text: string): string[] {
  const lines = text.split("\n");
  const line = lines.findIndex((l) => l.includes("|"));
  const column = lines[line]?.indexOf("|") ?? 0;
  lines[line] = lines[line]?.replace("|", "") ?? "";
  const place = placeAt(lines, line, column);
  return place ? proposals(root, lines, place).map((p) => p.label) : [];
}

const step = `pipeline:
  stages:
    - stage:
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  type: Wait
                  timeout: 1m
`;

test("keys that a mapping can have and hasn't", () => {
  expect(at("|")).toContain("pipeline");
  expect(at("pipeline:\n  name: x\n  |")).toContain("stages");
  expect(at("pipeline:\n  name: x\n  |")).not.toContain("name");
  expect(at(`${step}                  |`)).toContain("failureStrategies");
  expect(at("pipeline:\n  stages:\n  - |")).toEqual(expect.arrayContaining(["stage", "parallel"]));
});

test("what a type chooses", () => {
  expect(at(`${step}                  spec:\n                    |`)).toContain("duration");
  const http = step.replace("Wait", "Http");
  expect(at(`${http}                  spec:\n                    |`)).toContain("url");
  expect(at(`${http}                  spec:\n                    |`)).not.toContain("duration");
});

test("words that a key can have", () => {
  expect(at(step.replace("Wait", "|"))).toEqual(expect.arrayContaining(["Wait", "Http", "ShellScript"]));
  expect(at("pipeline:\n  allowStageExecutions: |")).toEqual(["true", "false"]);
  expect(wordsAt(root, ["pipeline", "stages", "-", "stage", "type"])).toEqual(
    expect.arrayContaining(["Custom", "Deployment"]),
  );
  expect(
    wordsAt(root, ["pipeline", "stages", "-", "stage", "spec", "execution", "steps", "-", "step", "type"]),
  ).toContain("Wait");
});

test("in a script, a comment and a list of one line nothing is proposed", () => {
  expect(at("a:\n  script: |-\n    x".replace("|-", ">-").replace("x", "|"))).toEqual([]);
  expect(at("pipeline: # |")).toEqual([]);
  expect(at("pipeline: {|")).toEqual([]);
});

test("help says what a key is, and why it is refused", () => {
  const lines = step.split("\n");
  expect(helpAt(root, lines, 8)).toMatch(/^type.*\nOne of: .*Asg/s);
  expect(helpAt(root, ["pipeline:", "  properties:"], 1)).toMatch(/not supported\nproperties are of the codebase/);
  expect(helpAt(root, ["nothing: x"], 0)).toBeUndefined();
});

test("every place of every example has an answer", () => {
  for (const text of Object.values(examples).filter((_, i) => i % 4 === 0)) {
    const lines = text.split("\n");
    for (const [n, l] of lines.entries()) {
      helpAt(root, lines, n);
      for (let c = 0; c <= l.length; c += 7) {
        const place = placeAt(lines, n, c);
        if (place) proposals(root, lines, place);
      }
    }
  }
});
