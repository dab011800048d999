import { Link, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../lib/api";
import { diff } from "../lib/diff";
import { nameOf } from "../lib/scope";
import { Diff } from "../ui/Diff";
import { usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { Choice, Field, List } from "../ui/List";
import { Title } from "../ui/states";
import { Ago } from "../ui/Time";

type Entry = Schemas["Record"];

interface Filter {
  from?: string;
  to?: string;
  actor?: string;
  action?: string;
  kind?: string;
  id?: string;
}

const actions =
  "CREATE UPDATE DELETE START END ABORT PAUSE RESUME MARK APPROVE REJECT RETRY INTERVENE ANSWER CREATE_TOKEN REVOKE_TOKEN LOGIN LOGIN_FAILED LOGOUT REVEAL CREATE_LINK FREEZE_REJECTED FREEZE_OVERRIDDEN POLICY_DENIED ACCESS_DENIED ROTATE";

/** said is an action in words: CREATE_TOKEN is create token. */
const said = (action: string) => action.toLowerCase().replaceAll("_", " ");

/** Audit shows who has done what in a scope, newest first. */
export function Audit() {
  const { scope } = usePlace();
  const { from, to, actor, action, kind, id } = useSearch({ strict: false }) as Filter;
  const chosen = [from && `from ${from}`, to && `to ${to}`, actor && `by ${actor}`, action && said(action), kind, id]
    .filter(Boolean)
    .join(", ");
  return (
    <main id="main">
      <Title text="Audit trail" />
      <div className="row">
        <p className="faint">of {nameOf(scope)}, and of what is in it</p>
        <span className="grow" />
        <Go scope={{}} page={["audit", "destinations"]}>
          Streaming destinations
        </Go>
      </div>
      <List<Schemas["AuditList"], Entry>
        what="records"
        path="/v1/audit"
        query={{ ...scope, newest: true, from, to, actor, action, kind, id }}
        rows={(a) => a.records}
        id={(r) => String(r.sequence)}
        chosen={chosen}
        more="Older ones"
        fields={
          <>
            <Field name="from" label="From" type="date" />
            <Field name="to" label="To" type="date" />
            <Field name="actor" label="By" />
            <Choice name="action" label="Action" options={actions.split(" ").map((a) => [a, said(a)])} />
            <Field name="kind" label="Of the kind" />
            <Field name="id" label="Identifier" />
          </>
        }
        empty={<p>Nothing has been changed here yet.</p>}
        columns={[
          ["When", (r) => <Ago at={r.time} />],
          ["By", (r) => r.actor],
          ["Action", (r) => said(r.action)],
          ["Of", (r) => <What record={r} />],
          ["In", (r) => nameOf(r.scope)],
          ["Request", (r) => r.request && <code className="faint">{r.request}</code>],
          ["Number", (r) => r.sequence],
        ]}
      />
    </main>
  );
}

/** What is what was changed, and how. */
function What({ record: r }: { record: Entry }) {
  const name =
    r.kind === "execution" ? (
      <Link to="/x/$execution" params={{ execution: r.id }} search={{}} data-row>
        {r.kind} {r.id}
      </Link>
    ) : (
      `${r.kind} ${r.id}`
    );
  const text = diff(r.before ?? "", r.after ?? "");
  if (text === "") return name;
  if (!r.before && !text.includes("\n")) {
    return (
      <>
        {name}
        <div className="faint">{r.after}</div>
      </>
    );
  }
  return (
    <>
      {r.kind === "execution" && name}
      <details>
        <summary data-row>{r.kind === "execution" ? "what changed" : name}</summary>
        <Diff text={text} />
      </details>
    </>
  );
}
