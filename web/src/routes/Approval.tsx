import { type FormEvent, useId, useState } from "react";
import { call, newKey, part, type TreeNode } from "../lib/api";
import { exact } from "../lib/time";
import { ProblemCard } from "../ui/states";

type Asked = NonNullable<TreeNode["approval"]>;
type Input = NonNullable<Asked["inputs"]>[number];

interface Props {
  execution: string;
  node: TreeNode;
  asked: Asked;
  answered: () => void;
}

/** Approval says what is to be approved and who has answered, and takes an answer. */
export function Approval({ execution, node, asked, answered }: Props) {
  const waits = node.status === "ApprovalWaiting";
  return (
    <section className="card" aria-labelledby="approval">
      <h3 id="approval">{waits ? "Approval is asked for" : "Approval"}</h3>
      <p className="asked">{asked.message}</p>
      <p className="faint">
        {asked.minimum > 1 ? `${asked.minimum} people must approve` : "One person must approve"}
        {(asked.groups?.length ?? 0) > 0 && `, of ${asked.groups?.join(", ")}`}
        {asked.notExecutor && "; whoever started the execution may not"}
        {asked.auto && `; approves by itself ${exact(asked.auto.at)}`}.
      </p>
      {Object.keys(asked.facts ?? {}).length > 0 && (
        <ul className="plain faint">
          {Object.entries(asked.facts ?? {})
            .sort(([a], [b]) => a.localeCompare(b))
            .map(([name, value]) => (
              <li key={name}>
                {name}: <code className="long">{value}</code>
              </li>
            ))}
        </ul>
      )}
      {(asked.changed?.length ?? 0) > 0 && <p>Asked anew, because {asked.changed?.join("; ")}.</p>}
      <p className="faint">
        Digest <code>{asked.digest.replace("sha256:", "").slice(0, 12)}</code>
      </p>
      {(asked.activities?.length ?? 0) > 0 && (
        <ul className="plain">
          {asked.activities?.map((a) => (
            <li key={`${a.user} ${a.at}`}>
              {a.action === "REJECT" ? "Rejected" : "Approved"} by {a.user}, {exact(a.at)}
              {a.comments && `: ${a.comments}`}
            </li>
          ))}
        </ul>
      )}
      {waits && <Answer execution={execution} node={node.id} asked={asked} answered={answered} />}
    </section>
  );
}

/**
 * Answer is sent with the digest of what is shown: where something else is asked by then, the server refuses it,
 * and the page shows that.
 */
function Answer({ execution, node, asked, answered }: Omit<Props, "node"> & { node: string }) {
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState<Error>();
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const action = (e.nativeEvent as SubmitEvent).submitter?.getAttribute("value") ?? "";
    const form = new FormData(e.currentTarget);
    const inputs: Record<string, string> = {};
    for (const i of asked.inputs ?? []) {
      const value = form.getAll(`input ${i.name}`).map(String).join(",");
      if (value !== "") inputs[i.name] = value;
    }
    setBusy(action);
    setProblem(undefined);
    try {
      await call(`/v1/executions/${part(execution)}/nodes/${part(node)}/approval`, {
        method: "POST",
        key: newKey(),
        json: { action, comments: String(form.get("comments") ?? ""), inputs, digest: asked.digest },
      });
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy("");
      answered();
    }
  };
  return (
    <form className="stack" onSubmit={submit}>
      {asked.inputs?.map((i) => (
        <Field key={i.name} input={i} />
      ))}
      <label>
        Comment
        <textarea name="comments" rows={2} maxLength={4096} />
      </label>
      {problem && <ProblemCard problem={problem} />}
      <div className="row">
        <button type="submit" value="APPROVE" className="primary" disabled={busy !== ""}>
          {busy === "APPROVE" ? "Approving…" : "Approve"}
        </button>
        <button type="submit" value="REJECT" className="danger" disabled={busy !== ""} formNoValidate>
          {busy === "REJECT" ? "Rejecting…" : "Reject"}
        </button>
      </div>
    </form>
  );
}

/** Field is one of the approver's inputs. */
function Field({ input }: { input: Input }) {
  const id = useId();
  const given = input.default ?? "";
  const common = { id, name: `input ${input.name}`, required: input.required };
  return (
    <div className="stack">
      <label htmlFor={id}>{input.name}</label>
      {(input.allowed?.length ?? 0) === 0 ? (
        <input {...common} defaultValue={given} />
      ) : (
        <select {...common} multiple={input.multiple} defaultValue={input.multiple ? given.split(",") : given}>
          {!input.multiple && <option value="">(none)</option>}
          {input.allowed?.map((v) => (
            <option key={v} value={v}>
              {v}
            </option>
          ))}
        </select>
      )}
      {input.regex && (
        <span className="faint">
          matches <code>{input.regex}</code>
        </span>
      )}
    </div>
  );
}
