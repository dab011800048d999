import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { call, part, type Schemas } from "../lib/api";
import { nameOf } from "../lib/scope";
import { exact } from "../lib/time";
import { Head, Parts, usePlace } from "../ui/Document";
import { Facts } from "../ui/Facts";
import { Go } from "../ui/Go";
import { Field, List, Table } from "../ui/List";
import { Awaited, Copy, Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { Word } from "../ui/Word";
import { Yaml } from "../ui/Yaml";

type Evaluation = Schemas["Evaluation"];

/** words say what policies came to. */
const words: Record<Evaluation["status"], string> = { pass: "Passed", warning: "Warned", error: "Denied" };

/** Evaluations lists what the policies of a scope came to, newest first. */
export function Evaluations() {
  const { scope } = usePlace();
  const { execution } = useSearch({ strict: false }) as { execution?: string };
  return (
    <main id="main">
      <nav aria-label="Lists beside this one" className="crumbs">
        <Go scope={scope} page={["policies"]}>
          Policies
        </Go>
        <Go scope={scope} page={["policy-sets"]}>
          Policy sets
        </Go>
        <Go scope={scope} page={["evaluations"]} current>
          Evaluations
        </Go>
      </nav>
      <Title text="Policy evaluations" />
      <p className="faint">of {nameOf(scope)}: those that denied or warned, and those before a run</p>
      <List<Schemas["EvaluationList"], Evaluation>
        what="evaluations"
        path="/v1/evaluations"
        query={{ ...scope, execution }}
        rows={(a) => a.evaluations}
        id={(e) => e.id}
        text={(e) => `${e.id} ${words[e.status]} ${askedOf(e)} ${e.actor ?? ""} ${said(e).join(" ")}`}
        chosen={execution && `in execution ${execution}`}
        fields={<Field name="execution" label="In the execution" />}
        empty={
          <p>
            No policy was asked here that denied, warned or decided on a run. They are kept for 183 days, those of runs
            that passed for 30.
          </p>
        }
        columns={[
          [
            "When",
            (e) => (
              <Go scope={scope} page={["evaluations", e.id]} row>
                <Ago at={e.createdAt} />
              </Go>
            ),
          ],
          ["Came to", (e) => <Word word={words[e.status]} />],
          ["Asked of", askedOf],
          ["Said", (e) => <First texts={said(e)} />],
          ["By", (e) => e.actor],
          ["In", (e) => <In evaluation={e} />],
          ["Id", (e) => <code className="faint">{e.id}</code>],
        ]}
      />
    </main>
  );
}

const askedOf = (e: Evaluation) => `${e.entity}, ${e.action}`;

/** said is all that the policies have said. */
const said = (e: Evaluation) => e.sets.flatMap((s) => s.policies.flatMap((p) => messagesOf(p)));

const messagesOf = (p: Schemas["Evaluated"]) => p.messages ?? [];

function First({ texts: [first, ...others] }: { texts: string[] }) {
  if (!first) return null;
  return (
    <>
      {first}
      {others.length > 0 && <span className="faint"> and {others.length} more</span>}
    </>
  );
}

/** In leads to the execution in which policies were asked. */
function In({ evaluation: { execution, node } }: { evaluation: Evaluation }) {
  if (!execution) return null;
  return (
    <Link to="/x/$execution" params={{ execution }} search={{ node }}>
      execution {execution}
    </Link>
  );
}

/** EvaluationPage is what policies came to once, and what they were asked about. */
export function EvaluationPage() {
  const { scope, params } = usePlace();
  const id = params.id ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["evaluation", scope, id],
    queryFn: ({ signal }) => call<Schemas["WithInput"]>(`/v1/evaluations/${part(id)}`, { query: { ...scope }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!data) {
    return (
      <Awaited
        title={`Evaluation ${id}`}
        what="the evaluation"
        rows={10}
        problem={error}
        again={() => void refetch()}
      />
    );
  }
  return (
    <main id="main">
      <Head above={[[`Policy evaluations of ${nameOf(scope)}`, ["evaluations"]]]} name={`Evaluation ${id}`} />
      <Facts
        facts={[
          ["Came to", <Word key="word" word={words[data.status]} />],
          ["Asked of", askedOf(data)],
          ["When", exact(data.createdAt)],
          ["By", data.actor],
          ["In", data.execution && <In key="in" evaluation={data} />],
          ["Attempt", data.attempt ? String(data.attempt) : ""],
          ["Is forgotten", <Ago key="until" at={data.expiresAt} />],
        ]}
      />
      <Parts
        parts={[
          ["policies", "Policies", () => <Asked sets={data.sets} />],
          ["input", "Input", () => <Input of={data} />],
        ]}
      />
    </main>
  );
}

/** Asked are the policies that were asked, with what each has said. */
function Asked({ sets }: { sets: Evaluation["sets"] }) {
  return (
    <Table
      rows={sets.flatMap((s) => s.policies.map((p) => ({ set: s.set, ...p })))}
      id={(p) => `${p.set} ${p.policy}`}
      columns={[
        ["Policy", (p) => <code>{p.policy}</code>],
        ["Of the set", (p) => <code>{p.set}</code>],
        ["Came to", (p) => <Word word={words[p.status]} />],
        [
          "Said",
          (p) => (
            <ul className="plain">
              {messagesOf(p).map((m) => (
                <li key={m}>{m}</li>
              ))}
            </ul>
          ),
        ],
      ]}
    />
  );
}

/** Input is what the policies were asked about. */
function Input({ of }: { of: Schemas["WithInput"] }) {
  if (of.input === undefined) {
    return <p className="empty">The input has {of.inputBytes} bytes, which is more than is shown.</p>;
  }
  const text = JSON.stringify(of.input, null, 2);
  return (
    <>
      <Copy text={text}>Copy the input</Copy>
      <Yaml text={text} label="The input" />
    </>
  );
}
