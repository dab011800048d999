import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { call, type ExecutionTree, part, type TreeNode } from "../lib/api";
import { useExecution } from "../lib/live";
import { listOf, nameOf, remember } from "../lib/scope";
import { useExpired } from "../lib/session";
import { lookOf } from "../lib/status";
import { exact } from "../lib/time";
import { type Failure, failures, find, grown, opening, same, title } from "../lib/tree";
import { PipelineLink } from "../ui/PipelineLink";
import { Status } from "../ui/Status";
import { Awaited, Copy, ProblemCard, Title } from "../ui/states";
import { Ago, Took } from "../ui/Time";
import { Actions } from "./Actions";
import { NodePanel } from "./NodePanel";
import type { Tab } from "./router";
import { StartedWith } from "./StartedWith";
import { Tail } from "./Tail";
import { Tree } from "./Tree";

export interface Selection {
  node?: string;
  tab?: Tab;
  attempt?: number;
  line?: number;
  /** shown: what the execution was started with */
  inputs?: 1;
}

/** ExecutionPage shows one execution: why it failed, what it is made of, and one node of it. */
export function ExecutionPage() {
  const { execution: id } = useParams({ from: "/x/$execution" });
  const selection = useSearch({ from: "/x/$execution" });
  const navigate = useNavigate({ from: "/x/$execution" });
  const live = useExecution(id);
  const expired = useExpired();
  const { tree, problem } = live;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it only looks at the problem
  useEffect(() => expired(problem), [problem]);
  const select = (change: Selection) =>
    void navigate({ to: ".", search: (s: Selection) => ({ ...s, ...change }), replace: true });
  const failed = tree ? failures(tree.root) : [];
  useEffect(() => {
    if (tree?.org && tree.project) remember({ org: tree.org, project: tree.project });
  }, [tree?.org, tree?.project]);
  useFailureKeys(failed, selection.node, (node) => select({ node, line: undefined, attempt: undefined }));

  if (!tree) {
    return <Awaited title="Execution" what="the execution" rows={10} problem={problem} again={live.refresh} />;
  }
  const at = selection.node && selection.node !== "auto" ? find(tree.root, selection.node)?.node : opening(tree);
  const more = async (n: TreeNode) => {
    const answer = await call<ExecutionTree>(`/v1/executions/${part(id)}`, {
      query: { node: n.id, from: n.hidden?.from },
    });
    const whole = find(answer.root, n.id)?.node;
    if (whole) live.put((now) => ({ ...now, root: grown(now.root, n.id, whole) }));
  };
  return (
    <main id="main" className="execution">
      <Head tree={tree} refresh={live.refresh} />
      <StartedWith
        tree={tree}
        open={selection.inputs === 1}
        show={(open) => select({ inputs: open ? 1 : undefined })}
      />
      <Announce status={tree.status} />
      {live.state === "reconnecting" && (
        <p className="banner" role="status">
          The connection is lost; connecting again. This is as of {new Date(live.asOf).toLocaleTimeString("en-GB")}.
        </p>
      )}
      {problem && live.state !== "reconnecting" && <ProblemCard problem={problem} again={live.refresh} />}
      {failed.length > 0 && (
        <Why tree={tree} failed={failed} select={(node) => select({ node, tab: "log", line: undefined })} />
      )}
      <div className="panes">
        <Tree
          root={tree.root}
          selected={at?.id}
          select={(node) => select({ node, line: undefined, attempt: undefined })}
          more={more}
        />
        {at ? (
          <NodePanel
            key={at.id}
            execution={tree}
            node={at}
            selection={selection}
            select={select}
            refresh={live.refresh}
          />
        ) : (
          <section className="panel">
            {selection.node ? (
              <p className="empty">This execution has no node {selection.node} that is shown.</p>
            ) : (
              <p className="empty">Nothing has begun yet.</p>
            )}
          </section>
        )}
      </div>
    </main>
  );
}

/** useFailureKeys goes to the next and the previous failure by n and p. */
function useFailureKeys(failed: Failure[], at: string | undefined, go: (id: string) => void) {
  const latest = useRef({ failed, at, go });
  latest.current = { failed, at, go };
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if ((e.key !== "n" && e.key !== "p") || e.ctrlKey || e.metaKey || e.altKey) return;
      if ((e.target as HTMLElement).closest("input, textarea, select, dialog")) return;
      const { failed, at, go } = latest.current;
      if (failed.length === 0) return;
      const i = failed.findIndex((f) => f.node.id === at);
      const next =
        failed[(i + (e.key === "n" ? 1 : failed.length - 1) + (i < 0 && e.key === "p" ? 1 : 0)) % failed.length];
      if (next) go(next.node.id);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

/** Announce tells readers of screens of another status. */
function Announce({ status }: { status: string }) {
  const first = useRef(status);
  return (
    <div className="sr" role="status">
      {status === first.current ? "" : `The execution is now: ${lookOf(status).word}`}
    </div>
  );
}

function Head({ tree, refresh }: { tree: ExecutionTree; refresh: () => void }) {
  const scope = { org: tree.org, project: tree.project };
  const name = `${tree.name || tree.pipeline} #${tree.sequence}`;
  return (
    <header className="head">
      <nav aria-label="Where this is" className="crumbs">
        <Link to={listOf(scope)} search={{}}>
          {nameOf(scope)}
        </Link>
        <PipelineLink of={tree} />
        {tree.parent && (
          <Link to="/x/$execution" params={{ execution: tree.parent }} search={{}}>
            the execution that started it
          </Link>
        )}
      </nav>
      <div className="row">
        <Title text={name} />
        <Status status={tree.status} />
        <span className="grow" />
        <Actions tree={tree} refresh={refresh} />
      </div>
      <p className="facts">
        <span>by {tree.actor}</span>
        <span>
          started <Ago at={tree.startedAt} />
        </span>
        <span>
          took <Took from={tree.startedAt} to={tree.endedAt} />
        </span>
        {tree.retryOf && (
          <Link to="/x/$execution" params={{ execution: tree.retryOf }} search={{}}>
            repeats another
          </Link>
        )}
        {tree.rollbackOf && (
          <Link to="/x/$execution" params={{ execution: tree.rollbackOf }} search={{}}>
            rolls another back
          </Link>
        )}
        {(tree.stages?.length ?? 0) > 0 && <span>only the stages {tree.stages?.join(", ")}</span>}
        <span>
          <code>{tree.id}</code>
        </span>
        <Copy text={location.href}>Copy link</Copy>
      </p>
    </header>
  );
}

/** How many different failures are shown. */
const mostFailures = 5;

/** Why says what failed, in the order in which it did, each with the end of its log. */
function Why({ tree, failed, select }: { tree: ExecutionTree; failed: Failure[]; select: (node: string) => void }) {
  const all = same(failed);
  const shown = all.slice(0, mostFailures);
  return (
    <section className="card bad-edge" aria-labelledby="why">
      <div className="row">
        <h2 id="why">Why did it fail?</h2>
        <span className="grow" />
        <Copy text={asText(tree, failed)}>Copy as text</Copy>
      </div>
      {tree.message && !failed.some((f) => f.node.message && tree.message?.endsWith(f.node.message)) && (
        <p>{tree.message}</p>
      )}
      <ol className="why-list">
        {shown.map(({ first, count }, i) => (
          <li key={first.node.id}>
            <button type="button" className="link" onClick={() => select(first.node.id)}>
              {pathOfNode(first)}
            </button>{" "}
            <Status status={first.node.status} />
            {first.node.endedAt && <span className="faint"> at {exact(first.node.endedAt)}</span>}
            {count > 1 && <span> and {count - 1} more with the same message</span>}
            {first.node.message && <p className="why">{first.node.message}</p>}
            {i === 0 && first.node.kind === "step" && first.node.startedAt && (
              <Tail execution={tree.id} node={first.node.id} />
            )}
          </li>
        ))}
      </ol>
      {all.length > mostFailures && <p>and {all.length - mostFailures} more; n and p go through all of them.</p>}
    </section>
  );
}

function pathOfNode(f: Failure): string {
  return [...f.above.slice(1), f.node].map(title).join(" › ");
}

function asText(tree: ExecutionTree, failed: Failure[]): string {
  const lines = failed
    .slice(0, 20)
    .map((f) => `- ${pathOfNode(f)}: ${lookOf(f.node.status).word}${f.node.message ? `: ${f.node.message}` : ""}`);
  return `${tree.name || tree.pipeline} #${tree.sequence} ${lookOf(tree.status).word}\n${lines.join("\n")}\n${location.origin}/x/${tree.id}`;
}
