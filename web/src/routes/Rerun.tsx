import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call, type Execution, type ExecutionTree, part, type Retry } from "../lib/api";
import { lookOf } from "../lib/status";
import { stagesOf, title } from "../lib/tree";
import { useOnce } from "../lib/useOnce";
import { Modal } from "../ui/Modal";
import { ProblemCard } from "../ui/states";

interface Props {
  tree: ExecutionTree;
  close: () => void;
}

/** Rerun asks from where an execution is run again, with the inputs that it had. */
export function Rerun({ tree, close }: Props) {
  const navigate = useNavigate();
  const stages = stagesOf(tree.root);
  const failed = stages.some((s) => lookOf(s.status).counts === "failed");
  const [from, setFrom] = useState(failed ? "failed" : "whole");
  const [stage, setStage] = useState(stages[0]?.identifier ?? "");
  const [all, setAll] = useState(false);
  const again = useOnce<Retry>(async (key, json) => {
    const e = await call<Execution>(`/v1/executions/${part(tree.id)}/retry`, { method: "POST", key, json });
    close();
    await navigate({ to: "/x/$execution", params: { execution: e.id }, search: {} });
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void again.act({
      ...(from === "failed" && { fromFailed: true }),
      ...(from === "stage" && { fromStage: stage }),
      ...(from !== "whole" && all && { all }),
    });
  };
  const choice = (value: string, words: string, disabled = false) => (
    <label className="check">
      <input type="radio" name="from" checked={from === value} disabled={disabled} onChange={() => setFrom(value)} />{" "}
      {words}
    </label>
  );
  return (
    <Modal title={`Run ${tree.name || tree.pipeline} #${tree.sequence} again`} close={close}>
      <form className="stack" onSubmit={submit}>
        <p>The pipeline as it is now, with the same inputs.</p>
        <fieldset>
          <legend>From where</legend>
          {choice("whole", "From the beginning")}
          {choice("failed", "From the first stage that failed", !failed)}
          {choice("stage", "From a stage", stages.length === 0)}
          <select
            aria-label="Stage"
            value={stage}
            disabled={from !== "stage"}
            onChange={(e) => setStage(e.target.value)}
          >
            {stages.map((s) => (
              <option key={s.id} value={s.identifier}>
                {title(s)}
              </option>
            ))}
          </select>
        </fieldset>
        {from !== "whole" && (
          <>
            <p className="faint">What came before isn't run again: it keeps what it came to.</p>
            <label className="check">
              <input type="checkbox" checked={all} onChange={(e) => setAll(e.target.checked)} /> Of parallel stages
              those that ended well, too
            </label>
          </>
        )}
        {again.problem && <ProblemCard problem={again.problem} />}
        <div className="row">
          <button type="submit" className="primary" aria-disabled={again.busy}>
            {again.busy ? "Starting…" : "Run again"}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
          {tree.org && tree.project && (
            <Link
              to="/o/$org/p/$project/pipelines/$pipeline/run"
              params={{ org: tree.org, project: tree.project, pipeline: tree.pipeline }}
              search={{ fromExecution: tree.id }}
            >
              Change the inputs first
            </Link>
          )}
        </div>
      </form>
    </Modal>
  );
}

/** Rollback asks whether an execution is to be rolled back. */
export function Rollback({ tree, close }: Props) {
  const navigate = useNavigate();
  const back = useOnce<undefined>(async (key) => {
    const e = await call<Execution>(`/v1/executions/${part(tree.id)}/rollback`, { method: "POST", key });
    close();
    await navigate({ to: "/x/$execution", params: { execution: e.id }, search: {} });
  });
  return (
    <Modal title={`Roll ${tree.name || tree.pipeline} #${tree.sequence} back?`} close={close}>
      <p>The rollback steps of its stages run in reverse, as an execution of their own.</p>
      {back.problem && <ProblemCard problem={back.problem} />}
      <div className="row">
        <button type="button" className="danger" aria-disabled={back.busy} onClick={() => void back.act(undefined)}>
          {back.busy ? "Starting…" : "Roll back"}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Modal>
  );
}
