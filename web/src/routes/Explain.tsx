import { type FormEvent, useState } from "react";
import { call, type Schemas, type Scope } from "../lib/api";
import { nameOf } from "../lib/scope";
import { ProblemCard } from "../ui/states";

/** What is asked about most; others can be typed. */
const actions = [
  "pipeline.run",
  "execution.view",
  "execution.abort",
  "entity.view",
  "entity.create",
  "entity.save",
  "entity.delete",
  "service.access",
  "environment.access",
  "connector.test",
  "secret.access",
  "freeze.override",
];

interface Asked {
  who?: string;
  what: string;
  answer?: Schemas["Permit"];
  problem?: Error;
}

/** Explain says whether somebody may do something, and why. */
export function Explain({ scope }: { scope: Scope }) {
  const [asked, setAsked] = useState<Asked>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    if (busy) return;
    const form = new FormData(e.currentTarget);
    const field = (name: string) => String(form.get(name) ?? "").trim() || undefined;
    const who = field("who");
    const what = `${[field("action"), field("kind"), field("id")].filter(Boolean).join(" ")}`;
    setBusy(true);
    try {
      const answer = await call<Schemas["Permit"]>("/v1/access/explain", {
        query: {
          ...scope,
          [field("as") ?? "user"]: who,
          action: field("action"),
          kind: field("kind"),
          id: field("id"),
        },
      });
      setAsked({ who, what, answer });
    } catch (problem) {
      setAsked({ who, what, problem: problem as Error });
    } finally {
      setBusy(false);
    }
  };
  const { answer, problem, who, what } = asked ?? {};
  return (
    <section className="card" aria-labelledby="explain">
      <h2 id="explain">Who may this?</h2>
      <form className="filters" onSubmit={submit}>
        <label>
          Who
          <select name="as">
            <option value="user">User</option>
            <option value="serviceAccount">Service account</option>
          </select>
        </label>
        <label>
          Identifier
          <input name="who" required autoComplete="off" spellCheck={false} maxLength={128} />
        </label>
        <label>
          Action
          <input name="action" required list="actions" autoComplete="off" spellCheck={false} maxLength={64} />
        </label>
        <datalist id="actions">
          {actions.map((a) => (
            <option key={a} value={a} />
          ))}
        </datalist>
        <label>
          Kind, of entity actions
          <input name="kind" autoComplete="off" spellCheck={false} maxLength={64} />
        </label>
        <label>
          To what; none: to any
          <input name="id" autoComplete="off" spellCheck={false} maxLength={257} />
        </label>
        <button type="submit" className="primary" disabled={busy}>
          Ask
        </button>
      </form>
      <div role="status">
        {answer && (
          <p>
            <strong>{answer.allowed ? "Yes" : "No"}</strong>: {who} may {answer.allowed ? what : `not ${what}`} in{" "}
            {nameOf(scope)}
            {answer.allowed
              ? answer.by && `, by the assignment ${answer.by}`
              : `; it takes ${answer.missing.join(" or ") || "more than is known"}`}
            .
          </p>
        )}
        {(answer?.rights?.length ?? 0) > 0 && (
          <p>Assignments that give anything there: {answer?.rights?.join(", ")}.</p>
        )}
      </div>
      {problem && <ProblemCard problem={problem} />}
    </section>
  );
}
