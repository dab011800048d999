import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { call, type Entity, type EntityList, type Execution, type ExecutionList } from "../lib/api";
import { useHints } from "../lib/hints";
import { pipelines as kind } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { Edit } from "../ui/Edit";
import { Status } from "../ui/Status";
import { Empty, Loading, ProblemCard, Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { useRows } from "../ui/useRows";

/** In how many of the project's newest executions the last ones of each pipeline are looked for. */
const looked = 200;
/** How many of them a pipeline shows. */
const shown = 10;

/** Pipelines is the list of a project's pipelines, by identifier, with their last executions. */
export function Pipelines() {
  const { org, project } = useParams({ from: "/o/$org/p/$project/pipelines" });
  const list = useInfiniteQuery({
    queryKey: ["entities", "pipeline", org, project],
    queryFn: ({ pageParam, signal }) =>
      call<EntityList>("/v1/entities/pipeline", { query: { org, project, limit: 50, pageToken: pageParam }, signal }),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextPageToken || undefined,
    placeholderData: keepPreviousData,
  });
  const every = useHints({ org, project });
  const last = useQuery({
    queryKey: ["executions", org, project, "last"],
    queryFn: ({ signal }) => call<ExecutionList>("/v1/executions", { query: { org, project, limit: looked }, signal }),
    refetchInterval: every(5000),
  });
  const { error } = list;
  const pipelines = list.data?.pages.flatMap((p) => p.entities) ?? [];
  return (
    <main id="main">
      <div className="row">
        <Title text="Pipelines" />
        <span className="grow" />
        <Edit scope={{ org, project }} of={kind} />
      </div>
      <p className="faint">
        of {nameOf({ org, project })}
        {last.error && " · their last deployments can't be read"}
      </p>
      {list.isPending && <Loading what="pipelines" />}
      {error && !list.data && <ProblemCard problem={error} again={() => void list.refetch()} />}
      {list.data && pipelines.length === 0 && (
        <Empty>
          <p>There is no pipeline here yet. Make a new one above, or save one with:</p>
          <pre>slipway apply -f pipeline.yaml</pre>
        </Empty>
      )}
      {pipelines.length > 0 && (
        <List org={org} project={project} pipelines={pipelines} runs={byPipeline(last.data)} all={isAll(last.data)} />
      )}
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {list.isFetchingNextPage ? "Reading…" : "More pipelines"}
        </button>
      )}
    </main>
  );
}

function byPipeline(list: ExecutionList | undefined): Map<string, Execution[]> | undefined {
  if (!list) return undefined;
  const runs = new Map<string, Execution[]>();
  for (const e of list.executions) {
    const of = runs.get(e.pipeline) ?? [];
    if (of.length < shown) of.push(e);
    runs.set(e.pipeline, of);
  }
  return runs;
}

const isAll = (list: ExecutionList | undefined) => list !== undefined && !list.nextPageToken;

interface ListProps {
  org: string;
  project: string;
  pipelines: Entity[];
  /** undefined: they aren't known yet */
  runs: Map<string, Execution[]> | undefined;
  /** runs are all that there have been */
  all: boolean;
}

function List({ org, project, pipelines, runs, all }: ListProps) {
  const rows = useRows();
  return (
    <div className="scroll">
      <table ref={rows}>
        <thead>
          <tr>
            <th scope="col">Pipeline</th>
            <th scope="col">Last deployment</th>
            <th scope="col">The last {shown}, newest first</th>
            <th scope="col">Saved</th>
            <th scope="col">Run</th>
          </tr>
        </thead>
        <tbody>
          {pipelines.map((p) => {
            const last = runs?.get(p.id) ?? [];
            const to = { org, project, pipeline: p.id };
            return (
              <tr key={p.id}>
                <td>
                  <Link to="/o/$org/p/$project/pipelines/$pipeline" params={to} search={{}} data-row>
                    {p.name || p.id}
                  </Link>
                  {p.name !== p.id && <div className="faint">{p.id}</div>}
                </td>
                <td>
                  {last[0] ? (
                    <>
                      <Status status={last[0].status} /> <Ago at={last[0].startedAt} />
                    </>
                  ) : (
                    <span className="faint">
                      {runs && (all ? "never" : `not among the project's last ${looked} deployments`)}
                    </span>
                  )}
                </td>
                <td>
                  <LastRuns runs={last} />
                </td>
                <td>
                  <Ago at={p.updatedAt} /> <span className="faint">by {p.updatedBy}</span>
                </td>
                <td>
                  <Link to="/o/$org/p/$project/pipelines/$pipeline/run" params={to} search={{}}>
                    Run<span className="sr"> {p.name || p.id}</span>
                  </Link>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** LastRuns are executions as their statuses alone, each a link. */
function LastRuns({ runs }: { runs: Execution[] }) {
  return (
    <ol className="last-runs">
      {runs.map((e) => (
        <li key={e.id}>
          <Link to="/x/$execution" params={{ execution: e.id }} search={{}}>
            <span className="sr">#{e.sequence} </span>
            <Status status={e.status} small />
          </Link>
        </li>
      ))}
    </ol>
  );
}
