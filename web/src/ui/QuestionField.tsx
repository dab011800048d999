import { useQueries } from "@tanstack/react-query";
import { useId } from "react";
import { call, type Detail, type EntityList, type Question, type Scope } from "../lib/api";
import { labelOf, refersTo } from "../lib/questions";

interface Props {
  question: Question;
  scope: Scope;
  value: string;
  /** where the value comes from, in words; empty: somebody has given it here */
  source: string;
  /** a value that isn't a text can't be given here */
  structured?: boolean;
  findings: Detail[];
  change: (value: string) => void;
  /** reset goes back to the value that there would be without one given here; none: there is no other */
  reset?: () => void;
}

/** QuestionField asks for the value of a runtime input. */
export function QuestionField({ question: q, scope, value, source, structured, findings, change, reset }: Props) {
  const id = useId();
  const names = useNames(refersTo(q), scope);
  const suggested = q.oneOf?.some(resolvedLater) ? q.oneOf : names;
  const common = {
    id,
    "aria-required": q.required,
    "aria-invalid": findings.length > 0,
    "aria-describedby": `${id}-help ${id}-wrong`,
  };
  const choices = q.oneOf?.some(resolvedLater) ? undefined : q.oneOf;
  if (q.askedLater) {
    return (
      <div className="question">
        <strong>{labelOf(q.path)}</strong>
        <span className="faint">is asked for when its step or stage starts</span>
      </div>
    );
  }
  return (
    <div className="question">
      {q.someOf && !structured ? (
        <Several question={q} value={value} change={change} described={common} />
      ) : (
        <>
          <label htmlFor={id}>{labelOf(q.path)}</label>
          {structured ? (
            <pre>{value}</pre>
          ) : choices ? (
            <select {...common} value={value} onChange={(e) => change(e.target.value)}>
              {!choices.includes(value) && <option value={value}>{value || "(choose)"}</option>}
              {choices.map((v) => (
                <option key={v}>{v}</option>
              ))}
            </select>
          ) : (
            <input
              {...common}
              value={value}
              onChange={(e) => change(e.target.value)}
              list={suggested.length > 0 ? `${id}-list` : undefined}
              inputMode={q.type === "Number" ? "decimal" : undefined}
              spellCheck={false}
              autoComplete="off"
            />
          )}
        </>
      )}
      {suggested.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggested.map((n) => (
            <option key={n} value={n} />
          ))}
        </datalist>
      )}
      <span id={`${id}-help`} className="faint">
        {[
          structured ? "a list or a mapping: change it in the YAML" : q.help,
          q.type === "Secret" && "a secret's identifier",
          source,
        ]
          .filter(Boolean)
          .join(" · ")}
        {reset && (
          <>
            {" "}
            <button type="button" className="link" onClick={reset} aria-label={`Reset ${labelOf(q.path)}`}>
              Reset
            </button>
          </>
        )}
      </span>
      <span id={`${id}-wrong`} className="why">
        {findings.map((f) => f.message).join("; ")}
      </span>
    </div>
  );
}

const resolvedLater = (value: string) => value.includes("<+");

interface SeveralProps {
  question: Question;
  value: string;
  change: (value: string) => void;
  described: { id: string; "aria-invalid": boolean; "aria-describedby": string };
}

/** Several takes one or more of some values, which are sent with commas between. */
function Several({ question: q, value, change, described }: SeveralProps) {
  const chosen = value === "" ? [] : value.split(",").map((v) => v.trim());
  const all = [...(q.someOf ?? []), ...chosen.filter((v) => !q.someOf?.includes(v))];
  return (
    <fieldset aria-describedby={described["aria-describedby"]}>
      <legend>{labelOf(q.path)}</legend>
      {all.map((v, i) => (
        <label key={v} className="check">
          <input
            type="checkbox"
            id={i === 0 ? described.id : undefined}
            aria-invalid={described["aria-invalid"]}
            checked={chosen.includes(v)}
            onChange={(e) => change(all.filter((a) => (a === v ? e.target.checked : chosen.includes(a))).join(","))}
          />{" "}
          {v}
        </label>
      ))}
    </fieldset>
  );
}

/** useNames are the entities of a kind that a project's documents can name. What may not be listed isn't suggested. */
function useNames(kind: string | undefined, { org, project }: Scope): string[] {
  const scopes: [string, Scope][] = [
    ["", { org, project }],
    ["org.", { org }],
    ["account.", {}],
  ];
  return useQueries({
    queries: (kind ? scopes : []).map(([prefix, scope]) => ({
      queryKey: ["names", kind, scope.org, scope.project],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const list = await call<EntityList>(`/v1/entities/${kind}`, { query: { ...scope, limit: 500 }, signal });
        return list.entities.map((e) => prefix + e.id);
      },
      staleTime: 60_000,
      retry: false,
    })),
    combine: (all) => all.flatMap((q) => q.data ?? []),
  });
}
