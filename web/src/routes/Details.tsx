import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call, type ExecutionTree, part, type Schemas, type TreeNode } from "../lib/api";
import { exact } from "../lib/time";
import { Facts } from "../ui/Facts";
import { Go } from "../ui/Go";
import { Table } from "../ui/List";
import { Status } from "../ui/Status";
import { Copy, Empty, Loading, ProblemCard } from "../ui/states";
import { Took } from "../ui/Time";
import { Yaml } from "../ui/Yaml";

type Known = Schemas["NodeDetails"];

interface Props {
  execution: ExecutionTree;
  node: TreeNode;
  what: "input" | "output" | "deploys" | "details";
}

/** Details shows what is known of a node besides its log. It is read anew when something has become of the node. */
export function Details({ execution, node, what }: Props) {
  const { data, error, refetch } = useQuery({
    queryKey: ["node", execution.id, node.id, node.status, node.attempt, node.endedAt],
    queryFn: ({ signal }) => call<Known>(`/v1/executions/${part(execution.id)}/nodes/${part(node.id)}`, { signal }),
    placeholderData: keepPreviousData,
  });
  if (!data) {
    if (error) return <ProblemCard problem={error} again={() => void refetch()} />;
    return <Loading what="what is known of it" />;
  }
  switch (what) {
    case "input":
      return <Inputs of={data} />;
    case "output":
      return <Outputs of={data} />;
    case "deploys":
      return <Deploys of={data} execution={execution} />;
    default:
      return <Facets of={data} execution={execution} node={node} />;
  }
}

function Inputs({ of: { inputs } }: { of: Known }) {
  if (!inputs.yaml) return <Empty>It is given nothing.</Empty>;
  return (
    <>
      <Yaml text={inputs.yaml} label="What it is given" />
      {inputs.values.length > 0 && (
        <>
          <h3>The expressions in it</h3>
          <Table
            rows={inputs.values}
            id={(v) => v.path}
            columns={[
              ["Where", (v) => <code>{v.path}</code>],
              ["Written", (v) => <code className="long">{v.written}</code>],
              [
                "Value",
                (v) =>
                  v.unknown ? <span className="why">{v.unknown}</span> : <code className="long">{v.value ?? ""}</code>,
              ],
            ]}
          />
        </>
      )}
    </>
  );
}

function Outputs({ of: { node, outputs, hiddenOutputs } }: { of: Known }) {
  if (outputs.length === 0)
    return <Empty>{node.endedAt && node.startedAt ? "It has put out nothing." : "It has put out nothing yet."}</Empty>;
  return (
    <>
      <Table
        rows={outputs}
        id={(o) => o.name}
        columns={[
          ["Name", (o) => <code className="long">{o.name}</code>],
          ["Value", (o) => <code className="long">{o.value}</code>],
          ["", (o) => o.expression && <Copy text={o.expression}>Copy path</Copy>],
        ]}
      />
      {hiddenOutputs ? <p>and {hiddenOutputs} more.</p> : null}
    </>
  );
}

function Deploys({ of: { delivered }, execution }: { of: Known; execution: ExecutionTree }) {
  if (!delivered) return <Empty>It hasn't chosen yet what it deploys.</Empty>;
  const { artifacts, manifests } = delivered;
  return (
    <>
      <Facts
        facts={[
          ["Service", <Named key="s" of="services" name={delivered.service} execution={execution} />],
          ["Environment", <Named key="e" of="environments" name={delivered.environment} execution={execution} />],
          ["Infrastructure", delivered.infrastructure && <code>{delivered.infrastructure}</code>],
          ["Type", delivered.type],
        ]}
      />
      <h3>Artifacts</h3>
      {artifacts.length === 0 && <p>The service has none.</p>}
      {artifacts.length > 0 && (
        <Table
          rows={artifacts}
          id={(a) => `${a.sidecar} ${a.identifier}`}
          columns={[
            [
              "Artifact",
              (a) => (
                <>
                  {a.identifier || "primary"} {a.sidecar && <span className="faint">sidecar</span>}
                </>
              ),
            ],
            ["Source", (a) => a.type],
            ["Version", (a) => a.version],
            ["Image", (a) => a.image && <code className="long">{a.image}</code>],
            ["Digest", (a) => a.digest && <code className="long">{a.digest}</code>],
            ["", (a) => a.unknown],
          ]}
        />
      )}
      {manifests.length > 0 && (
        <>
          <h3>Manifests</h3>
          <Table
            rows={manifests}
            id={(m) => `${m.from} ${m.identifier}`}
            columns={[
              ["Manifest", (m) => m.identifier],
              ["Type", (m) => m.type],
              ["Of", (m) => m.from],
              ["Store", (m) => m.store],
              ["Version", (m) => [m.chart, m.version, m.branch, m.commit].filter(Boolean).join(" ")],
            ]}
          />
        </>
      )}
    </>
  );
}

/** Named leads to what a stage names: in its project, its organization or the account. */
function Named({ of, name, execution }: { of: string; name: string; execution: ExecutionTree }) {
  const account = name.startsWith("account.");
  const org = name.startsWith("org.");
  const scope = { org: account ? undefined : execution.org, project: account || org ? undefined : execution.project };
  return (
    <Go scope={scope} page={[of, name.replace(/^(account|org)\./, "")]}>
      {name}
    </Go>
  );
}

function Facets({ of, execution, node }: { of: Known; execution: ExecutionTree; node: TreeNode }) {
  const { when, iteration, attempts } = of;
  return (
    <>
      <Facts
        facts={[
          ["Identifier", node.identifier && <code>{node.identifier}</code>],
          ["Id", <code key="id">{node.id}</code>],
          ["Kind", node.kind],
          ["Type", node.type],
          [
            "Line",
            of.line && execution.org && execution.project ? (
              <Go
                key="line"
                scope={{ org: execution.org, project: execution.project }}
                page={["pipelines", execution.pipeline]}
                search={{ tab: "yaml", line: String(of.line) }}
              >
                {of.line} of the pipeline
              </Go>
            ) : (
              of.line
            ),
          ],
          ["Started", node.startedAt && exact(node.startedAt)],
          ["Ended", node.startedAt && node.endedAt && exact(node.endedAt)],
          ["Took", node.startedAt && <Took from={node.startedAt} to={node.endedAt} />],
          ["Timeout", of.timeout],
          ["Time is up", of.deadline && exact(of.deadline)],
          ["Failure types", of.failures?.join(", ")],
          ["Failure strategy", of.strategy],
          ["Runs on", when && `${when.status}${when.condition ? `, if ${when.condition}` : ""}`],
          ["Iteration", iteration && `${iteration.number} of ${iteration.total}: ${iteration.name}`],
          ...Object.entries(iteration?.values ?? {}).map(([k, v]): [string, React.ReactNode] => [
            k,
            <code key={k}>{v}</code>,
          ]),
          ["Delegate selectors", of.selectors?.join(", ")],
          ["Decided", node.decided && `${node.decided.what} by ${node.decided.by}, ${exact(node.decided.at)}`],
          [
            "Its pipeline",
            node.child && (
              <Link to="/x/$execution" params={{ execution: node.child }} search={{}}>
                the execution that it started
              </Link>
            ),
          ],
        ]}
      />
      {attempts.length > 0 && (
        <>
          <h3>Attempts</h3>
          <Table
            rows={attempts}
            id={(a) => String(a.number)}
            columns={[
              ["Attempt", (a) => a.number],
              ["Status", (a) => <Status status={a.status} />],
              ["Delegate", (a) => a.delegate && <span title={a.delegate.id}>{a.delegate.name || a.delegate.id}</span>],
              ["Host", (a) => a.delegate?.host],
              ["Started", (a) => a.startedAt && exact(a.startedAt)],
              ["Took", (a) => a.startedAt && <Took from={a.startedAt} to={a.endedAt} />],
              ["Message", (a) => a.message],
            ]}
          />
        </>
      )}
    </>
  );
}
