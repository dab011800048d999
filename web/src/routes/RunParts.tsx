import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  call,
  type Detail,
  type InputSetList,
  type MergedInputs,
  type Plan,
  part,
  type Question,
  type Rehearsed,
  type StartExecution,
} from "../lib/api";
import { apart, grouped, sourceOf } from "../lib/questions";
import { QuestionField } from "../ui/QuestionField";
import { Empty, Finding, Loading, ProblemCard } from "../ui/states";
import type { Of } from "./Pipeline";

interface QuestionsProps {
  of: Of;
  questions: Question[];
  values: MergedInputs["values"];
  typed: Record<string, string>;
  setTyped: (typed: Record<string, string>) => void;
  findings: Detail[];
}

/** Questions are the fields of what a pipeline asks for, by stage. */
export function Questions({ of, questions, values, typed, setTyped, findings }: QuestionsProps) {
  if (questions.length === 0) return <Empty>It asks for nothing.</Empty>;
  const found = apart(questions, findings);
  const known = new Map(values.map((v) => [v.path, v]));
  return grouped(questions).map((g) => (
    <section key={g.title} className="questions" aria-label={g.title}>
      <h2>{g.title}</h2>
      {g.questions.map((q) => {
        const own = typed[q.path];
        const value = known.get(q.path);
        return (
          <QuestionField
            key={q.path}
            question={q}
            scope={of}
            value={own ?? value?.text ?? ""}
            source={
              own === undefined
                ? sourceOf(value)
                : own === "" && q.required && value?.text
                  ? `empty, so ${value.text}, ${sourceOf(value)}`
                  : ""
            }
            structured={own === undefined && value?.structured}
            findings={found.of.get(q.path) ?? []}
            change={(v) => setTyped({ ...typed, [q.path]: v })}
            reset={
              own === undefined
                ? undefined
                : () => {
                    const { [q.path]: _, ...rest } = typed;
                    setTyped(rest);
                  }
            }
          />
        );
      })}
    </section>
  ));
}

interface ChooserProps {
  list: UseQueryResult<InputSetList>;
  sets: string[];
  choose: (sets: string[]) => void;
}

/** InputSetChooser has the input sets that a run takes, in the order in which they count. */
export function InputSetChooser({ list, sets, choose }: ChooserProps) {
  const [next, setNext] = useState("");
  if (list.isPending) return <Loading what="its input sets" rows={1} />;
  if (list.error) return <ProblemCard problem={list.error} again={() => void list.refetch()} />;
  const all = list.data.inputSets;
  if (all.length === 0 && sets.length === 0) return null;
  const name = (id: string) => all.find((s) => s.id === id)?.name || id;
  const open = all.filter((s) => !sets.includes(s.id));
  return (
    <section className="card" aria-labelledby="sets">
      <h2 id="sets">Input sets</h2>
      {sets.length > 1 && <p className="faint">Where several have a value, the later one counts.</p>}
      <ol>
        {sets.map((id, i) => (
          <li key={id}>
            {name(id)}
            {all.find((s) => s.id === id)?.valid === false && (
              <span className="faint"> (doesn't fit the pipeline)</span>
            )}{" "}
            {i > 0 && (
              <button
                type="button"
                className="quiet"
                onClick={() => choose(sets.toSpliced(i, 1).toSpliced(i - 1, 0, id))}
              >
                Earlier<span className="sr"> {name(id)}</span>
              </button>
            )}
            <button type="button" className="quiet" onClick={() => choose(sets.toSpliced(i, 1))}>
              Remove<span className="sr"> {name(id)}</span>
            </button>
          </li>
        ))}
      </ol>
      {open.length > 0 && (
        <div className="row">
          <select aria-label="Input set" value={next} onChange={(e) => setNext(e.target.value)}>
            <option value="">(choose)</option>
            {open.map((s) => (
              <option key={s.id} value={s.id}>
                {s.name || s.id}
              </option>
            ))}
          </select>
          <button
            type="button"
            onClick={() => {
              if (next) choose([...sets, next]);
              setNext("");
            }}
          >
            Add
          </button>
        </div>
      )}
    </section>
  );
}

interface FindingsProps {
  questions: Question[];
  findings: Detail[];
  warnings: Detail[];
}

/** Findings are those about none of the fields that are shown. */
export function Findings({ questions, findings, warnings }: FindingsProps) {
  const { other } = apart(questions, findings);
  if (other.length + warnings.length === 0) return null;
  return (
    <section className="card" role="status">
      <ul className="plain">
        {other.map((d) => (
          <li key={`${d.path} ${d.line} ${d.message}`} className="why">
            <Place of={d} />
          </li>
        ))}
        {warnings.map((d) => (
          <li key={`${d.file} ${d.path} ${d.message}`}>
            Left out: <Place of={d} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Place({ of: d }: { of: Detail }) {
  return (
    <>
      {d.file && d.file !== "inputs" && `${d.file}: `}
      <Finding of={d} />
    </>
  );
}

/** PlanPreview says what a run would do with what is filled in, when somebody wants to know. */
export function PlanPreview({ of: { org, project, pipeline }, body }: { of: Of; body: StartExecution }) {
  const [open, setOpen] = useState(false);
  const plan = useQuery({
    queryKey: ["plan", org, project, pipeline, body],
    queryFn: ({ signal }) =>
      call<Plan>(`/v1/pipelines/${part(pipeline)}/plan`, {
        method: "POST",
        query: { org, project },
        json: body,
        signal,
      }),
    enabled: open,
    placeholderData: keepPreviousData,
  });
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>What it would do</summary>
      {plan.isFetching && !plan.data && <Loading what="the plan" rows={3} />}
      {plan.error ? (
        <ProblemCard problem={plan.error} again={() => void plan.refetch()} />
      ) : (
        plan.data && <Planned nodes={plan.data.root.children ?? []} />
      )}
    </details>
  );
}

function Planned({ nodes }: { nodes: Rehearsed[] }) {
  return (
    <ul>
      {nodes.map((n) => (
        <li key={n.id}>
          {n.name || n.identifier || (n.kind === "parallel" ? "In parallel" : n.kind)}{" "}
          <span className="faint">
            {[
              n.type,
              n.deploys &&
                `${n.deploys.service} to ${n.deploys.environment}${n.deploys.infrastructure ? `, ${n.deploys.infrastructure}` : ""}`,
              n.condition && `if ${n.condition}`,
              n.runs === "no" && "doesn't run",
              n.rollback && "on a rollback",
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
          {(n.children?.length ?? 0) > 0 && <Planned nodes={n.children ?? []} />}
          {n.hidden && <p className="faint">and {n.hidden.nodes} more</p>}
        </li>
      ))}
    </ul>
  );
}
