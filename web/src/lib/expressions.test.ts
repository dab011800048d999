import { expect, test } from "vitest";
import { expressions, typedAt } from "./expressions";
import { outline } from "./outline";

const text = `pipeline:
  name: Shop
  identifier: shop
  variables:
    - name: color
      type: String
      value: red
  stages:
    - stage:
        name: Build
        identifier: build
        type: Custom
        variables:
          - name: flavour
            type: String
            value: vanilla
        spec:
          execution:
            steps:
              - step:
                  name: Make
                  identifier: make
                  type: ShellScript
                  spec:
                    outputVariables:
                      - name: tag
                        type: String
                        value: TAG
              - parallel:
                  - stepGroup:
                      name: Group
                      identifier: g
                      steps:
                        - step: {name: In, identifier: inner, type: Wait, spec: {duration: 1s}}
                  - step: {name: Beside, identifier: beside, type: Wait, spec: {duration: 1s}}
    - parallel:
        - stage: {name: Other, identifier: other, type: Custom, spec: {}}
`;

test("a document's variables, outputs and statuses are proposed, those of groups and of what runs beside others too", () => {
  const labels = expressions(outline(text) ?? []).map((e) => e.label);
  expect(labels.filter((l) => /\.(variables|stages)\./.test(l))).toEqual([
    "pipeline.variables.color",
    "pipeline.stages.build.status",
    "pipeline.stages.build.variables.flavour",
    "pipeline.stages.build.spec.execution.steps.make.output.outputVariables.tag",
    "pipeline.stages.build.spec.execution.steps.make.status",
    "pipeline.stages.build.spec.execution.steps.g.steps.inner.status",
    "pipeline.stages.build.spec.execution.steps.beside.status",
    "pipeline.stages.other.status",
  ]);
  expect(labels).toContain("env.type");
  expect(new Set(labels).size).toBe(labels.length);
});

test("what isn't finished yet, or has no stages, proposes what every pipeline has", () => {
  for (const doc of [
    "pipeline:\n  stages:\n    - stage:\n    - step: x\n    - 7\n",
    "template: {type: Stage, spec: {}}",
    "a: 1",
  ])
    expect(expressions(outline(doc) ?? []).map((e) => e.label)).toContain("pipeline.sequenceId");
});

test("an expression begins with <+ and goes on to the end of its name", () => {
  for (const [before, typed] of [
    ["value: <+", ""],
    ["value: <+pipe", "pipe"],
    ["echo <+pipeline.variables.c", "pipeline.variables.c"],
    ["<+<+env.", "env."],
    ["value: <+pipeline.name>", undefined],
    ["value: <+a> pipe", undefined],
    ['<+secrets.getValue("x', undefined],
    ["value: <", undefined],
    ["value: pipeline", undefined],
  ] as const)
    expect(typedAt(before), before).toBe(typed);
});
