import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { call, type Entity, type ExecutionList, part } from "../lib/api";
import { useHints } from "../lib/hints";
import { pipelines } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { ended } from "../lib/status";
import { Delete } from "../ui/Delete";
import { Edit } from "../ui/Edit";
import { Runs } from "../ui/Runs";
import { Awaited, Empty, Loading, ProblemCard, Title } from "../ui/states";
import { Tabs } from "../ui/Tabs";
import { Ago } from "../ui/Time";
import { useKey } from "../ui/useKey";
import { Yaml } from "../ui/Yaml";
import { InputSets, Triggers } from "./PipelineParts";
import type { PipelineTab } from "./router";

const tabs: [PipelineTab, string][] = [
  ["runs", "Deployments"],
  ["yaml", "YAML"],
  ["inputs", "Input sets"],
  ["triggers", "Triggers"],
];

/** Of names the pipeline of a page. */
export interface Of {
  org: string;
  project: string;
  pipeline: string;
}

/** PipelinePage is one pipeline: what it has run, what it is, with what it runs and when. */
export function PipelinePage() {
  const of = useParams({ from: "/o/$org/p/$project/pipelines/$pipeline" });
  const { tab = "runs", line } = useSearch({ from: "/o/$org/p/$project/pipelines/$pipeline" });
  const { org, project, pipeline } = of;
  const navigate = useNavigate({ from: "/o/$org/p/$project/pipelines/$pipeline" });
  const saved = useQuery({
    queryKey: ["entity", "pipeline", org, project, pipeline],
    queryFn: ({ signal }) =>
      call<Entity>(`/v1/entities/pipeline/${part(pipeline)}`, { query: { org, project }, signal }),
  });
  const { error } = saved;
  useKey("r", () => void navigate({ to: "/o/$org/p/$project/pipelines/$pipeline/run", params: of, search: {} }));
  const e = saved.data;
  if (!e) {
    return (
      <Awaited title={pipeline} what="the pipeline" rows={10} problem={error} again={() => void saved.refetch()} />
    );
  }
  const select = (search: { tab?: PipelineTab; line?: number }) => void navigate({ to: ".", search, replace: true });
  return (
    <main id="main">
      <nav aria-label="Where this is" className="crumbs">
        <Link to="/o/$org/p/$project/pipelines" params={of}>
          {nameOf(of)}
        </Link>
      </nav>
      <div className="row">
        <Title text={e.name || e.id} />
        <span className="grow" />
        <Edit scope={{ org, project }} of={pipelines} id={e.id} />
        <Delete scope={{ org, project }} of={pipelines} id={e.id} version={e.version} />
        <Link to="/o/$org/p/$project/pipelines/$pipeline/run" params={of} search={{}} className="button primary">
          Run
        </Link>
      </div>
      <p className="facts">
        <code>{e.id}</code>
        <span>
          saved <Ago at={e.updatedAt} /> by {e.updatedBy}
        </span>
        <span>version {e.version}</span>
      </p>
      <Tabs label="What of it" tabs={tabs} at={tab} go={(t) => select({ tab: t })}>
        {tab === "runs" && <History of={of} />}
        {tab === "yaml" && (
          <Yaml text={e.yaml ?? ""} label="Its YAML" line={line} mark={(l) => select({ tab, line: l })} />
        )}
        {tab === "inputs" && <InputSets of={of} />}
        {tab === "triggers" && <Triggers of={of} />}
      </Tabs>
    </main>
  );
}

/** History is what a pipeline has run, newest first. */
function History({ of }: { of: Of }) {
  const every = useHints(of);
  const list = useInfiniteQuery({
    queryKey: ["executions", of.org, of.project, { pipeline: of.pipeline }],
    queryFn: ({ pageParam, signal }) =>
      call<ExecutionList>("/v1/executions", { query: { ...of, limit: 20, pageToken: pageParam }, signal }),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextPageToken || undefined,
    maxPages: 10,
    refetchInterval: (q) => {
      const known = q.state.data?.pages.flatMap((p) => p.executions) ?? [];
      return every(known.some((e) => !ended(e.status)) ? 2000 : 10_000);
    },
  });
  const executions = list.data?.pages.flatMap((p) => p.executions) ?? [];
  return (
    <>
      {list.isPending && <Loading what="its deployments" />}
      {list.error && !list.data && <ProblemCard problem={list.error} again={() => void list.refetch()} />}
      {list.data && executions.length === 0 && (
        <Empty>
          <p>
            It has never run.{" "}
            <Link to="/o/$org/p/$project/pipelines/$pipeline/run" params={of} search={{}}>
              Run it
            </Link>
            , or:
          </p>
          <pre>slipway run {of.pipeline} --follow</pre>
        </Empty>
      )}
      {executions.length > 0 && <Runs executions={executions} busy={false} />}
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {list.isFetchingNextPage ? "Reading…" : "Older ones"}
        </button>
      )}
    </>
  );
}
