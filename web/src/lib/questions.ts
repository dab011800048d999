import type { Detail, MergedInputs, Question } from "./api";

/** Group is the questions of the pipeline itself, or of a stage of it. */
export interface Group {
  title: string;
  questions: Question[];
}

/** grouped is the questions in their order, those of a stage together. */
export function grouped(questions: Question[]): Group[] {
  const groups = new Map<string, Group>();
  for (const q of questions) {
    const stage = /^stages\.([^.]+)\./.exec(q.path)?.[1];
    const title = stage ? `Stage ${stage}` : "Pipeline";
    const group = groups.get(title);
    if (group) group.questions.push(q);
    else groups.set(title, { title, questions: [q] });
  }
  return [...groups.values()];
}

/** labelOf is what a question is called within its group. */
export function labelOf(path: string): string {
  return path.replace(/^stages\.[^.]+\./, "").replace(/^variables\./, "");
}

/** sourceOf says in words where the value of an input comes from. */
export function sourceOf(v: MergedInputs["values"][number] | undefined): string {
  switch (v?.from) {
    case "set":
      return `from the input set ${v.set}`;
    case "default":
      return "its default";
    case "inputs":
      return "from the YAML";
    default:
      return "";
  }
}

/** apart are findings by the question that they are about, and those that are about none of them. */
export function apart(questions: Question[], findings: Detail[]): { of: Map<string, Detail[]>; other: Detail[] } {
  const of = new Map<string, Detail[]>();
  const other: Detail[] = [];
  for (const f of findings) {
    const path = f.path?.replace(/^pipeline\./, "") ?? "";
    const q = questions.find((q) => path === q.path || path.startsWith(`${q.path}.`));
    if (q) of.set(q.path, [...(of.get(q.path) ?? []), f]);
    else other.push(f);
  }
  return { of, other };
}

const references: Record<string, string> = {
  serviceRef: "service",
  environmentRef: "environment",
  connectorRef: "connector",
};

/** refersTo is the kind of entity that a question's value names, if it names one. */
export function refersTo(q: Question): string | undefined {
  if (q.type === "Secret") return "secret";
  return references[q.path.slice(q.path.lastIndexOf(".") + 1)];
}
