import type { Item, List } from "./outline";

/** What an expression can be, and what it stands for. */
export interface Expression {
  label: string;
  about: string;
}

/** Those that every pipeline has, whatever is in it (docs/expressions.md). */
const always: [string, string][] = [
  ["pipeline.name", "of the pipeline"],
  ["pipeline.identifier", "of the pipeline"],
  ["pipeline.executionId", "of this execution"],
  ["pipeline.sequenceId", "number of this execution"],
  ["pipeline.triggerType", "what started it"],
  ["pipeline.triggeredBy.name", "who started it"],
  ["stage.name", "of the stage that one is in"],
  ["stage.identifier", "of the stage that one is in"],
  ["step.identifier", "of the step that one is in"],
  ["service.name", "that the stage deploys"],
  ["service.identifier", "that the stage deploys"],
  ["env.name", "to which the stage deploys"],
  ["env.identifier", "to which the stage deploys"],
  ["env.type", "Production or PreProduction"],
  ["infra.name", "to which the stage deploys"],
  ["artifact.image", "that the stage deploys"],
  ["artifact.tag", "that the stage deploys"],
  ["org.identifier", "of the execution"],
  ["project.identifier", "of the execution"],
  ["account.identifier", "of the execution"],
  ["trigger.payload", "what the event brought"],
  ["input", "asked for when the pipeline is run"],
];

/**
 * typedAt is what of an expression stands between <+ and the end of a text; undefined: one isn't begun there, or is
 * past its name.
 */
export function typedAt(before: string): string | undefined {
  return /<\+([\w.]*)$/.exec(before)?.[1];
}

/** expressions are those that a document's stages, steps and variables bring, and then those of every pipeline. */
export function expressions(lists: List[]): Expression[] {
  const own = lists.flatMap((l) => {
    if (l.of !== "stage") return []; // a template of a stage or of a group: nobody knows in which pipeline
    const variables = l.variables.map((v) => ({
      label: `pipeline.variables.${v}`,
      about: "variable of the pipeline",
    }));
    return [...variables, ...flat(l.items).flatMap(ofStage)];
  });
  return [...own, ...always.map(([label, about]) => ({ label, about }))];
}

/** flat are the items with those that run beside each other in the place of what holds them. */
function flat(items: Item[]): Item[] {
  return items.flatMap((i) => (i.kind === "parallel" ? flat(i.lists.flatMap((l) => l.items)) : [i]));
}

function ofStage(stage: Item): Expression[] {
  if (!stage.identifier) return [];
  const at = `pipeline.stages.${stage.identifier}`;
  const steps = stage.lists.find((l) => l.title === "Steps")?.items ?? [];
  return [
    { label: `${at}.status`, about: `of the stage ${stage.name}` },
    ...stage.variables.map((v) => ({ label: `${at}.variables.${v}`, about: `variable of the stage ${stage.name}` })),
    ...flat(steps).flatMap((s) => ofStep(s, `${at}.spec.execution.steps`)),
  ];
}

function ofStep(step: Item, above: string): Expression[] {
  if (!step.identifier) return [];
  const at = `${above}.${step.identifier}`;
  if (step.kind === "stepGroup") {
    const inner = step.lists.find((l) => l.title === "Steps")?.items ?? [];
    return flat(inner).flatMap((s) => ofStep(s, `${at}.steps`));
  }
  return [
    ...step.outputs.map((o) => ({ label: `${at}.output.outputVariables.${o}`, about: `output of ${step.name}` })),
    { label: `${at}.status`, about: `of the step ${step.name}` },
  ];
}
