import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { call, type ExecutionList, type ExecutionTree, Problem, part } from "../lib/api";
import { pairs } from "../lib/compare";
import { diff } from "../lib/diff";
import { duration } from "../lib/time";
import { Diff } from "../ui/Diff";
import { Status } from "../ui/Status";
import { Awaited, Empty, Title } from "../ui/states";
import { Ago, Took } from "../ui/Time";

/** Compare shows in what an execution differs from another one of its pipeline; "last" is the last that succeeded. */
export function Compare() {
  const { execution, other } = useParams({ from: "/x/$execution/compare/$other" });
  const both = useQuery({
    queryKey: ["compare", execution, other],
    queryFn: async ({ signal }) => {
      const after = await call<ExecutionTree>(`/v1/executions/${part(execution)}`, { signal });
      const id = other === "last" ? await lastSuccess(after, signal) : other;
      return { after, before: id ? await call<ExecutionTree>(`/v1/executions/${part(id)}`, { signal }) : undefined };
    },
  });
  const { error } = both;
  if (!both.data) {
    return (
      <Awaited title="Compare" what="both executions" rows={10} problem={error} again={() => void both.refetch()} />
    );
  }
  const { before, after } = both.data;
  return (
    <main id="main">
      <nav aria-label="Where this is" className="crumbs">
        <Link to="/x/$execution" params={{ execution }} search={{}}>
          {after.name || after.pipeline} #{after.sequence}
        </Link>
      </nav>
      <Title
        text={before ? `#${before.sequence} and #${after.sequence} of ${after.pipeline}` : `Compare ${after.pipeline}`}
      />
      {before ? (
        <Differences before={before} after={after} />
      ) : (
        <Empty>No other execution of {after.pipeline} has succeeded, so there is nothing to compare it with.</Empty>
      )}
    </main>
  );
}

/** lastSuccess is the newest execution that succeeded before another began, else the newest that isn't that one. */
async function lastSuccess(of: ExecutionTree, signal: AbortSignal): Promise<string | undefined> {
  const { org, project, pipeline } = of;
  if (!project) throw new Problem(0, "It is of no project.");
  const list = await call<ExecutionList>("/v1/executions", {
    query: { org, project, pipeline, status: "Success", limit: 50 },
    signal,
  });
  const others = list.executions.filter((e) => e.id !== of.id);
  return (others.find((e) => e.startedAt < of.startedAt) ?? others[0])?.id;
}

function Differences({ before, after }: { before: ExecutionTree; after: ExecutionTree }) {
  const inputs = diff(before.inputs ?? "", after.inputs ?? "");
  const versions = (e: ExecutionTree) => (e.templates ?? []).map((t) => `${t.template} ${t.version}\n`).join("");
  const templates = diff(versions(before), versions(after));
  return (
    <>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Execution</th>
              <th scope="col">Status</th>
              <th scope="col">Started by</th>
              <th scope="col">Started</th>
              <th scope="col">Took</th>
            </tr>
          </thead>
          <tbody>
            {[before, after].map((e) => (
              <tr key={e.id}>
                <td>
                  <Link to="/x/$execution" params={{ execution: e.id }} search={{}}>
                    #{e.sequence}
                  </Link>
                </td>
                <td>
                  <Status status={e.status} />
                </td>
                <td>{e.actor}</td>
                <td>
                  <Ago at={e.startedAt} />
                </td>
                <td>
                  <Took from={e.startedAt} to={e.endedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2>Inputs</h2>
      {inputs ? <Diff text={inputs} label="Lines" /> : <p className="empty">Neither had inputs.</p>}
      {templates && (
        <>
          <h2>Templates</h2>
          <Diff text={templates} label="Lines" />
        </>
      )}
      <h2>Steps</h2>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">#{before.sequence}</th>
              <th scope="col">#{after.sequence}</th>
              <th scope="col">Longer by</th>
            </tr>
          </thead>
          <tbody>
            {pairs(before.root, after.root).map((p) => (
              <tr key={p.path}>
                <td>{p.path}</td>
                {[p.before, p.after].map((n, i) => (
                  <td key={String(i)}>
                    {n ? (
                      <>
                        <Status status={n.status} />{" "}
                        <Took from={n.startedAt} to={n.startedAt ? n.endedAt : undefined} />
                      </>
                    ) : (
                      <span className="faint">not there</span>
                    )}
                  </td>
                ))}
                <td>{p.longer !== undefined && `${p.longer < 0 ? "−" : ""}${duration(Math.abs(p.longer))}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
