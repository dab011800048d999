import type { ExecutionTree, TreeNode } from "../lib/api";
import { lookOf } from "../lib/status";
import { title } from "../lib/tree";
import { Status } from "../ui/Status";
import { Tabs } from "../ui/Tabs";
import { Took } from "../ui/Time";
import { Approval } from "./Approval";
import { Answer, Intervene, Mark } from "./Decide";
import { Details } from "./Details";
import type { Selection } from "./Execution";
import { LogView } from "./LogView";
import type { Tab } from "./router";

interface Props {
  execution: ExecutionTree;
  node: TreeNode;
  selection: Selection;
  select: (change: Selection) => void;
  /** refresh reads the execution anew. */
  refresh: () => void;
}

/** What there is of a node, by its kind. */
function tabsOf(node: TreeNode): [Tab, string][] {
  if (node.kind === "step")
    return [
      ["log", "Log"],
      ["input", "Inputs"],
      ["output", "Outputs"],
      ["details", "Details"],
    ];
  const deploys: [Tab, string][] =
    node.kind === "stage" && node.type === "Deployment" ? [["deploys", "What it deploys"]] : [];
  return [...deploys, ["input", "Inputs"], ["details", "Details"]];
}

/** NodePanel shows one node of an execution: its log, and what is known of it. */
export function NodePanel({ execution, node, selection, select, refresh }: Props) {
  const step = node.kind === "step";
  const tabs = tabsOf(node);
  const tab = (tabs.find(([t]) => t === selection.tab) ?? tabs[0])?.[0] ?? "details";
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
      <Tabs label="What of it" tabs={tabs} at={tab} go={(t) => select({ tab: t })}>
        {tab !== "log" ? (
          <Details execution={execution} node={node} what={tab} />
        ) : node.startedAt ? (
          <LogView execution={execution.id} node={node} selection={selection} select={select} />
        ) : (
          <p className="empty">It hasn't begun, so it has no log.</p>
        )}
      </Tabs>
    </section>
  );
}
