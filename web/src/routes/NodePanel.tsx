import { Link } from "@tanstack/react-router";
import type { ExecutionTree, TreeNode } from "../lib/api";
import { lookOf } from "../lib/status";
import { exact } from "../lib/time";
import { title } from "../lib/tree";
import { Status } from "../ui/Status";
import { Tabs } from "../ui/Tabs";
import { Took } from "../ui/Time";
import { Approval } from "./Approval";
import { Answer, Intervene, Mark } from "./Decide";
import type { Selection } from "./Execution";
import { LogView } from "./LogView";

interface Props {
  execution: ExecutionTree;
  node: TreeNode;
  selection: Selection;
  select: (change: Selection) => void;
  /** refresh reads the execution anew. */
  refresh: () => void;
}

const tabs = [
  ["log", "Log"],
  ["details", "Details"],
] as const;

/** NodePanel shows one node of an execution: its log, and what is known of it. */
export function NodePanel({ execution, node, selection, select, refresh }: Props) {
  const step = node.kind === "step";
  const tab = selection.tab ?? "log";
  return (
    <section className="panel" aria-label={`Node ${title(node)}`}>
      <div className="row panel-head">
        <h2>{title(node)}</h2>
        <Status status={node.status} />
        <span className="faint">
          {node.type} <Took from={node.startedAt} to={node.startedAt ? node.endedAt : undefined} />
        </span>
        {(step || node.kind === "stage") && lookOf(node.status).counts === "running" && (
          <>
            <span className="grow" />
            <Mark execution={execution} node={node} decided={refresh} />
          </>
        )}
      </div>
      {node.message && <p className="why">{node.message}</p>}
      {node.approval && <Approval execution={execution.id} node={node} asked={node.approval} answered={refresh} />}
      {node.status === "InterventionWaiting" && step && (
        <Intervene execution={execution} node={node} decided={refresh} />
      )}
      {node.status === "InputWaiting" && (node.asks?.length ?? 0) > 0 && (
        <Answer execution={execution} node={node} decided={refresh} />
      )}
      {step ? (
        <Tabs label="What of it" tabs={tabs} at={tab} go={(t) => select({ tab: t })}>
          {tab === "details" ? (
            <Details node={node} />
          ) : node.startedAt ? (
            <LogView execution={execution.id} node={node} selection={selection} select={select} />
          ) : (
            <p className="empty">It hasn't begun, so it has no log.</p>
          )}
        </Tabs>
      ) : (
        <Details node={node} />
      )}
    </section>
  );
}

function Details({ node }: { node: TreeNode }) {
  const facts: [string, React.ReactNode][] = [
    ["Identifier", node.identifier && <code>{node.identifier}</code>],
    ["Id", <code key="id">{node.id}</code>],
    ["Kind", node.kind],
    ["Type", node.type],
    ["Started", node.startedAt && exact(node.startedAt)],
    ["Ended", node.startedAt && node.endedAt && exact(node.endedAt)],
    ["Attempts", node.attempt],
    ["Decided", node.decided && `${node.decided.what} by ${node.decided.by}, ${exact(node.decided.at)}`],
    [
      "Its pipeline",
      node.child && (
        <Link to="/x/$execution" params={{ execution: node.child }} search={{}}>
          the execution that it started
        </Link>
      ),
    ],
  ];
  return (
    <dl className="facts-list">
      {facts
        .filter(([, v]) => v !== undefined && v !== "" && v !== 0)
        .map(([name, v]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{v}</dd>
          </div>
        ))}
    </dl>
  );
}
