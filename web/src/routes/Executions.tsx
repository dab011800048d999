import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { call, type ExecutionList } from "../lib/api";
import { begin, groups, sinces } from "../lib/filters";
import { useHints } from "../lib/hints";
import { nameOf } from "../lib/scope";
import { ended, lookOf, statuses } from "../lib/status";
import { Runs } from "../ui/Runs";
import { Empty, Loading, ProblemCard, Title } from "../ui/states";

interface Filter {
  pipeline?: string;
  status?: string;
  since?: string;
}

/** Executions is the list of a scope's executions, newest first. */
export function Executions() {
  const { org, project } = useParams({ strict: false }) as { org?: string; project?: string };
  const filter = useSearch({ strict: false }) as Filter;
  const every = useHints({ org, project });
  const list = useInfiniteQuery({
    queryKey: ["executions", org, project, filter],
    queryFn: ({ pageParam, signal }) =>
      call<ExecutionList>("/v1/executions", {
        query: {
          org,
          project,
          pipeline: filter.pipeline,
          status: filter.status,
          since: begin(filter.since),
          limit: 50,
          pageToken: pageParam,
        },
        signal,
      }),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextPageToken || undefined,
    maxPages: 4,
    placeholderData: keepPreviousData,
    refetchInterval: (q) => {
      const shown = q.state.data?.pages.flatMap((p) => p.executions) ?? [];
      return every(shown.some((e) => !ended(e.status)) ? 2000 : 10_000);
    },
  });
  const { error } = list;
  const executions = list.data?.pages.flatMap((p) => p.executions) ?? [];
  return (
    <main id="main">
      <Title text="Deployments" />
      <p className="faint">
        of {nameOf({ org, project })}
        {list.data && error && " · the list may be old: the server can't be reached"}
      </p>
      <Filters filter={filter} />
      {list.isPending && <Loading what="deployments" />}
      {error && !list.data && <ProblemCard problem={error} again={() => void list.refetch()} />}
      {list.data && executions.length === 0 && !list.hasNextPage && <Nothing filter={filter} />}
      {executions.length > 0 && <Runs executions={executions} busy={list.isPlaceholderData} />}
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {list.isFetchingNextPage ? "Reading…" : "Older ones"}
        </button>
      )}
    </main>
  );
}

function Filters({ filter }: { filter: Filter }) {
  const navigate = useNavigate();
  const set = (change: Filter) =>
    void navigate({ to: ".", search: (s: Filter) => ({ ...s, ...change }), replace: true });
  return (
    <search className="filters">
      <label>
        Pipeline
        <input
          data-search
          key={filter.pipeline}
          defaultValue={filter.pipeline}
          placeholder="identifier"
          spellCheck={false}
          autoComplete="off"
          onBlur={(e) => set({ pipeline: e.target.value.trim() || undefined })}
          onKeyDown={(e) => e.key === "Enter" && set({ pipeline: e.currentTarget.value.trim() || undefined })}
        />
      </label>
      <label>
        Status
        <select value={filter.status ?? ""} onChange={(e) => set({ status: e.target.value || undefined })}>
          <option value="">All</option>
          {groups.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
          <optgroup label="One status">
            {statuses
              .filter((s) => s !== "NotStarted")
              .map((s) => (
                <option key={s} value={s}>
                  {lookOf(s).word}
                </option>
              ))}
          </optgroup>
          {filter.status && !known(filter.status) && <option value={filter.status}>{filter.status}</option>}
        </select>
      </label>
      <label>
        Began
        <select value={filter.since ?? ""} onChange={(e) => set({ since: e.target.value || undefined })}>
          {sinces.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {any(filter) && (
        <button
          type="button"
          className="quiet"
          onClick={() => set({ pipeline: undefined, status: undefined, since: undefined })}
        >
          Clear
        </button>
      )}
    </search>
  );
}

const known = (status: string) => groups.some(([v]) => v === status) || statuses.includes(status);
const any = (f: Filter) => Boolean(f.pipeline || f.status || f.since);

/** words says in words what a filter lets through. */
function words(f: Filter): string {
  const status =
    groups.find(([v]) => v === f.status)?.[1] ??
    f.status
      ?.split(",")
      .map((s) => lookOf(s).word)
      .join(", ");
  return [f.pipeline && `pipeline ${f.pipeline}`, status && `status ${status}`, f.since && `since ${f.since} ago`]
    .filter(Boolean)
    .join(", ");
}

function Nothing({ filter }: { filter: Filter }) {
  if (any(filter)) return <Empty>No deployment matches: {words(filter)}.</Empty>;
  return (
    <Empty>
      <p>Nothing has run here yet. To save an example and run it:</p>
      <pre>{"slipway apply -f pipeline.yaml\nslipway run PIPELINE --follow"}</pre>
    </Empty>
  );
}
