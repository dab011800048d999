import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useMemo, useState } from "react";
import {
  call,
  type Execution,
  type ExecutionTree,
  type InputSetList,
  type MergedInputs,
  type PipelineInputs,
  Problem,
  part,
  type Question,
  type StartExecution,
} from "../lib/api";
import { nameOf } from "../lib/scope";
import { useOnce } from "../lib/useOnce";
import { useSettled } from "../lib/useSettled";
import { Loading, ProblemCard, Title } from "../ui/states";
import { Tabs } from "../ui/Tabs";
import type { Of } from "./Pipeline";
import { Findings, InputSetChooser, PlanPreview, Questions } from "./RunParts";
import type { RunView } from "./router";

const at = "/o/$org/p/$project/pipelines/$pipeline/run";
const views: [RunView, string][] = [
  ["form", "Form"],
  ["yaml", "YAML"],
];

/** RunPage asks for what a run of a pipeline needs, and starts it. */
export function RunPage() {
  const of = useParams({ from: at });
  const { fromExecution: from } = useSearch({ from: at });
  const { org, project, pipeline } = of;
  const asked = useQuery({
    queryKey: ["inputs", org, project, pipeline],
    queryFn: ({ signal }) =>
      call<PipelineInputs>(`/v1/pipelines/${part(pipeline)}/inputs`, { query: { org, project }, signal }),
  });
  const before = useQuery({
    queryKey: ["inputs of", from],
    queryFn: ({ signal }) => call<ExecutionTree>(`/v1/executions/${part(from ?? "")}`, { signal }),
    enabled: from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const error = asked.error ?? before.error;
  const ready = asked.data && (from === undefined || before.data);
  return (
    <main id="main" className="run">
      <nav aria-label="Where this is" className="crumbs">
        <Link to="/o/$org/p/$project/pipelines" params={of}>
          {nameOf(of)}
        </Link>
        <Link to="/o/$org/p/$project/pipelines/$pipeline" params={of} search={{}}>
          {pipeline}
        </Link>
      </nav>
      <Title text={`Run ${pipeline}`} />
      {before.data && (
        <p className="faint">
          with the inputs of{" "}
          <Link to="/x/$execution" params={{ execution: before.data.id }} search={{}}>
            #{before.data.sequence}
          </Link>
        </p>
      )}
      {!ready && !error && <Loading what="what it asks for" />}
      {error && !ready && (
        <ProblemCard problem={error} again={() => void (asked.error ? asked.refetch() : before.refetch())} />
      )}
      {ready && asked.data && <Form of={of} asked={asked.data} given={before.data?.inputs ?? ""} />}
    </main>
  );
}

/**
 * Form has the inputs in two views. What is in the YAML counts like in the file of "slipway run --inputs", and what is
 * typed into a field like its --input, which wins.
 */
function Form({ of, asked, given }: { of: Of; asked: PipelineInputs; given: string }) {
  const { org, project, pipeline } = of;
  const { inputSets = "", view = "form" } = useSearch({ from: at });
  const sets = useMemo(() => inputSets.split(",").filter(Boolean), [inputSets]);
  const navigate = useNavigate({ from: at });
  const [yaml, setYaml] = useState(given);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [more, setMore] = useState({ stages: "", overrideFreeze: "" });
  const body = useMemo(() => bodyOf(sets, yaml, filled(asked.inputs, typed), more), [asked, sets, yaml, typed, more]);
  const settled = useSettled(body);
  const chosen = useQuery({
    queryKey: ["inputSets", org, project, pipeline],
    queryFn: ({ signal }) =>
      call<InputSetList>(`/v1/pipelines/${part(pipeline)}/input-sets`, { query: { org, project }, signal }),
  });
  const merged = useQuery({
    queryKey: ["merge", org, project, pipeline, settled],
    queryFn: ({ signal }) =>
      call<MergedInputs>(`/v1/pipelines/${part(pipeline)}/inputs:merge`, {
        method: "POST",
        query: { org, project },
        json: settled,
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  const start = useStart(of, body);
  const found = start.refused?.body?.details ?? [
    ...(start.tried ? (merged.data?.missing ?? []) : []),
    ...(merged.data?.wrong ?? []),
  ];
  const select = (change: { inputSets?: string; view?: RunView }) =>
    void navigate({ to: ".", search: (s) => ({ ...s, ...change }), replace: true });
  const show = (next: RunView) => {
    if (next === "yaml" && view === "form" && !merged.error) {
      setYaml(merged.data?.yaml || asked.yaml);
      setTyped({});
    }
    select({ view: next === "form" ? undefined : next });
  };
  return (
    <form className="stack" noValidate onSubmit={start.submit}>
      <InputSetChooser list={chosen} sets={sets} choose={(s) => select({ inputSets: s.join(",") || undefined })} />
      <Tabs label="The inputs" tabs={views} at={view} go={show}>
        {view === "yaml" ? (
          <textarea
            aria-label="Inputs as YAML"
            className="code"
            rows={Math.min(30, yaml.split("\n").length + 2)}
            spellCheck={false}
            value={yaml}
            aria-invalid={found.length > 0}
            onChange={(e) => setYaml(e.target.value)}
          />
        ) : (
          <Questions
            of={of}
            questions={asked.inputs}
            values={merged.data?.values ?? []}
            typed={typed}
            setTyped={setTyped}
            findings={found}
          />
        )}
      </Tabs>
      <Findings
        questions={view === "yaml" ? [] : asked.inputs}
        findings={found}
        warnings={merged.data?.warnings ?? []}
      />
      {merged.error && !start.problem && <ProblemCard problem={merged.error} again={() => void merged.refetch()} />}
      <details>
        <summary>More</summary>
        <div className="stack">
          <label>
            Only these stages (identifiers with commas between; the pipeline must have allowStageExecutions)
            <input
              value={more.stages}
              onChange={(e) => setMore({ ...more, stages: e.target.value })}
              spellCheck={false}
              autoComplete="off"
            />
          </label>
          <label>
            Why it runs in spite of deployment freezes
            <input
              value={more.overrideFreeze}
              onChange={(e) => setMore({ ...more, overrideFreeze: e.target.value })}
              maxLength={1000}
            />
          </label>
        </div>
      </details>
      <PlanPreview of={of} body={settled} />
      {start.problem && !(start.refused?.body?.details?.length && found.length > 0) && (
        <ProblemCard problem={start.problem} />
      )}
      <div className="row">
        <button type="submit" className="primary" aria-disabled={start.busy}>
          {start.busy ? "Starting…" : "Run"}
        </button>
        <Link to="/o/$org/p/$project/pipelines/$pipeline" params={of} search={{}}>
          Cancel
        </Link>
      </div>
    </form>
  );
}

/** filled are the values that count: a field that is left empty where a value is needed gives none. */
function filled(questions: Question[], typed: Record<string, string>): Record<string, string> {
  const needed = new Set(questions.filter((q) => q.required).map((q) => q.path));
  return Object.fromEntries(Object.entries(typed).filter(([path, value]) => value !== "" || !needed.has(path)));
}

function bodyOf(
  sets: string[],
  yaml: string,
  typed: Record<string, string>,
  more: { stages: string; overrideFreeze: string },
): StartExecution {
  const stages = more.stages.split(/[\s,]+/).filter(Boolean);
  return {
    ...(sets.length > 0 && { inputSets: sets }),
    ...(yaml !== "" && { inputsYaml: yaml }),
    ...(Object.keys(typed).length > 0 && { inputs: typed }),
    ...(stages.length > 0 && { stages }),
    ...(more.overrideFreeze && { overrideFreeze: more.overrideFreeze }),
  };
}

/** useStart starts a run once, however often the same is sent: the server knows a start by its key. */
function useStart({ org, project, pipeline }: Of, body: StartExecution) {
  const navigate = useNavigate();
  const [sent, setSent] = useState<string>();
  const text = useMemo(() => JSON.stringify(body), [body]);
  const { act, busy, problem } = useOnce<StartExecution>(async (key, json) => {
    const started = await call<Execution>(`/v1/pipelines/${part(pipeline)}/executions`, {
      method: "POST",
      query: { org, project },
      key,
      json,
    });
    await navigate({ to: "/x/$execution", params: { execution: started.id }, search: {} });
  });
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    if (busy) return;
    setSent(text);
    void act(body);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another refusal moves the focus
  useEffect(() => {
    document.querySelector<HTMLElement>(".run [aria-invalid=true]")?.focus();
  }, [problem]);
  const now = sent === text ? problem : undefined; // what has changed since isn't refused yet
  const refused = now instanceof Problem && now.status === 400 ? now : undefined;
  return { submit, busy, tried: sent !== undefined, problem: now, refused };
}
