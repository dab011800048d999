import { type FormEvent, useState } from "react";
import { call, type ExecutionTree, type Intervention, type Marking, Problem, part, type TreeNode } from "../lib/api";
import { apart } from "../lib/questions";
import { find, title } from "../lib/tree";
import { useOnce } from "../lib/useOnce";
import { Modal } from "../ui/Modal";
import { QuestionField } from "../ui/QuestionField";
import { ProblemCard } from "../ui/states";

interface Props {
  execution: ExecutionTree;
  node: TreeNode;
  decided: () => void;
}

const path = (execution: ExecutionTree, node: TreeNode, what: string) =>
  `/v1/executions/${part(execution.id)}/nodes/${part(node.id)}/${what}`;

const actions: [Intervention["action"], string][] = [
  ["Retry", "Run the step again"],
  ["Ignore", "Ignore the failure and go on"],
  ["MarkAsSuccess", "Go on as if it had succeeded"],
  ["MarkAsFailure", "Let it have failed"],
  ["StepGroupRollback", "Roll its step group back"],
  ["StageRollback", "Roll its stage back"],
  ["PipelineRollback", "Roll the pipeline back"],
  ["Abort", "Abort the execution"],
];

/** Intervene takes what a person decides about a failed step that waits for it. */
export function Intervene({ execution, node, decided }: Props) {
  const [action, setAction] = useState<Intervention["action"]>();
  const send = useOnce<Intervention>(async (key, json) => {
    await call(path(execution, node, "intervene"), { method: "POST", key, json }).finally(decided);
  });
  const grouped = find(execution.root, node.id)?.above.some((n) => n.kind === "stepGroup");
  return (
    <section className="card" aria-labelledby="intervene">
      <h3 id="intervene">It failed. What now?</h3>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (action) void send.act({ action });
        }}
      >
        <fieldset>
          <legend>Decision</legend>
          {actions
            .filter(([a]) => a !== "StepGroupRollback" || grouped)
            .map(([a, words]) => (
              <label key={a} className="check">
                <input type="radio" name="action" required checked={action === a} onChange={() => setAction(a)} />{" "}
                {words}
              </label>
            ))}
        </fieldset>
        {send.problem && <ProblemCard problem={send.problem} />}
        <div className="row">
          <button type="submit" className="primary" aria-disabled={send.busy}>
            {send.busy ? "Deciding…" : "Decide"}
          </button>
        </div>
      </form>
    </section>
  );
}

/** Answer takes the inputs that a step or a stage asks for when it starts. */
export function Answer({ execution, node, decided }: Props) {
  const [typed, setTyped] = useState<Record<string, string>>({});
  const questions = (node.asks ?? []).map((q) => ({ ...q, askedLater: false }));
  const send = useOnce<Record<string, string>>(async (key, inputs) => {
    await call(path(execution, node, "inputs"), { method: "POST", key, json: { inputs } });
    decided();
  });
  const details = send.problem instanceof Problem ? (send.problem.body?.details ?? []) : [];
  const found = apart(questions, details);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void send.act(typed);
  };
  return (
    <section className="card" aria-labelledby="answer">
      <h3 id="answer">It asks for inputs</h3>
      <form className="stack" noValidate onSubmit={submit}>
        {questions.map((q) => (
          <QuestionField
            key={q.path}
            question={q}
            scope={execution}
            value={typed[q.path] ?? q.default ?? ""}
            source=""
            findings={found.of.get(q.path) ?? []}
            change={(v) => setTyped({ ...typed, [q.path]: v })}
          />
        ))}
        {send.problem && (details.length === 0 || found.other.length > 0) && <ProblemCard problem={send.problem} />}
        <div className="row">
          <button type="submit" className="primary" aria-disabled={send.busy}>
            {send.busy ? "Sending…" : "Go on"}
          </button>
        </div>
      </form>
    </section>
  );
}

/** Mark ends what runs as a person says. */
export function Mark({ execution, node, decided }: Props) {
  const [asked, setAsked] = useState<Marking["as"]>();
  const send = useOnce<Marking>(async (key, json) => {
    await call(path(execution, node, "mark"), { method: "POST", key, json });
    setAsked(undefined);
    decided();
  });
  const word = asked === "Success" ? "succeeded" : "failed";
  return (
    <>
      <button type="button" className="quiet" onClick={() => setAsked("Failed")}>
        End as failed…
      </button>
      {node.type === "Wait" && (
        <button type="button" className="quiet" onClick={() => setAsked("Success")}>
          End as succeeded…
        </button>
      )}
      {asked && (
        <Modal title={`End ${title(node)} as ${word}?`} close={() => setAsked(undefined)}>
          <p>
            {asked === "Failed"
              ? "What runs of it is stopped, and its failure strategies decide what follows."
              : "It stops waiting, and what comes after it begins."}
          </p>
          {send.problem && <ProblemCard problem={send.problem} />}
          <div className="row">
            <button
              type="button"
              className="danger"
              aria-disabled={send.busy}
              onClick={() => void send.act({ as: asked })}
            >
              End as {word}
            </button>
            <button type="button" onClick={() => setAsked(undefined)}>
              Cancel
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
