import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { call, type Execution, type ExecutionList, type Scope, type Waiting, type WaitingList } from "../lib/api";
import { begin, failed, running } from "../lib/filters";
import { useHints } from "../lib/hints";
import { nameOf } from "../lib/scope";
import { PipelineLink } from "../ui/PipelineLink";
import { Runs } from "../ui/Runs";
import { Status } from "../ui/Status";
import { Empty, Loading, ProblemCard, Title } from "../ui/states";
import { Ago } from "../ui/Time";

/** Home is what a person looks at first: what waits for somebody, what runs, and what has failed of late. */
export function Home() {
  const scope = useParams({ from: "/o/$org/p/$project" });
  const { org, project } = scope;
  const every = useHints(scope);
  const waiting = useQuery({
    queryKey: ["waiting", org, project],
    queryFn: ({ signal }) => call<WaitingList>("/v1/waiting", { query: { org, project }, signal }),
    refetchInterval: every(10_000),
  });
  const runs = useList(scope, every, `${running},Pausing,Paused`);
  const failures = useList(scope, every, failed, "24h");
  const lists = [waiting, runs, failures];
  const error = lists.find((l) => l.error)?.error;
  const waits = waiting.data?.waiting ?? [];
  const others = (runs.data?.executions ?? []).filter((e) => !waits.some((w) => w.execution === e.id));
  const quiet =
    waiting.data &&
    runs.data &&
    failures.data &&
    waits.length + runs.data.executions.length + failures.data.executions.length === 0;
  return (
    <main id="main">
      <Title text="Home" />
      <p className="faint">
        of {nameOf(scope)}
        {error && lists.some((l) => l.data) && " · what is shown may be old: the server can't be reached"}
      </p>
      {quiet ? (
        <Empty>
          <p>
            Nothing waits, nothing runs, and nothing has failed in the last 24 hours. To save a pipeline and run it:
          </p>
          <pre>{"slipway apply -f pipeline.yaml\nslipway run PIPELINE --follow"}</pre>
        </Empty>
      ) : (
        <>
          <Part name="Waiting for somebody" list={waiting} none="Nothing waits." empty={waits.length === 0}>
            <Waits waits={waits} />
            {waiting.data?.nextPageToken && (
              <p className="faint">Only the newest executions that are under way were looked into.</p>
            )}
          </Part>
          <Part name="Running" list={runs} none="Nothing else runs." empty={others.length === 0}>
            <Runs executions={others} busy={false} />
            {runs.data?.nextPageToken && <All of={scope} status={running} />}
          </Part>
          <Part
            name="Failed in the last 24 hours"
            list={failures}
            none="Nothing has failed."
            empty={failures.data?.executions.length === 0}
          >
            <Failed executions={failures.data?.executions ?? []} />
            {failures.data?.nextPageToken && <All of={scope} status={failed} since="24h" />}
          </Part>
        </>
      )}
    </main>
  );
}

function useList({ org, project }: Scope, every: (without: number) => number, status: string, since?: string) {
  return useQuery({
    queryKey: ["executions", org, project, status, since],
    queryFn: ({ signal }) =>
      call<ExecutionList>("/v1/executions", {
        query: { org, project, status, since: begin(since), limit: 50 },
        signal,
      }),
    refetchInterval: every(5000),
  });
}

interface PartProps {
  name: string;
  list: Pick<UseQueryResult<unknown>, "isPending" | "error" | "data" | "refetch">;
  none: string;
  empty: boolean;
  children: React.ReactNode;
}

function Part({ name, list, none, empty, children }: PartProps) {
  const id = `part-${name.split(" ")[0]}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name}</h2>
      {list.isPending && <Loading what={name} rows={2} />}
      {list.error && !list.data && <ProblemCard problem={list.error} again={() => void list.refetch()} />}
      {list.data !== undefined && (empty ? <p className="empty">{none}</p> : children)}
    </section>
  );
}

/** All leads to the whole list. */
function All({ of, status, since }: { of: { org: string; project: string }; status: string; since?: string }) {
  return (
    <Link to="/o/$org/p/$project/executions" params={of} search={{ status, since }}>
      All of them
    </Link>
  );
}

/** Waits are what a person has to say, each with the place where it is said. */
function Waits({ waits }: { waits: Waiting[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">For</th>
            <th scope="col">Step</th>
            <th scope="col">Pipeline</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {waits.map((w) => (
            <tr key={`${w.execution} ${w.node}`}>
              <td>
                <Status status={w.for} />
              </td>
              <td>
                <Link to="/x/$execution" params={{ execution: w.execution }} search={{ node: w.node }} data-row>
                  {w.step || w.node}
                </Link>
                {w.message && <div className="asked">{w.message}</div>}
              </td>
              <td>
                {w.name || w.pipeline} <span className="faint">#{w.sequence}</span>
              </td>
              <td>{w.since && <Ago at={w.since} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Failed are executions by their pipelines, each with the newest. */
function Failed({ executions }: { executions: Execution[] }) {
  const pipelines = new Map<string, Execution[]>();
  for (const e of executions) pipelines.set(e.pipeline, [...(pipelines.get(e.pipeline) ?? []), e]);
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Pipeline</th>
            <th scope="col">How often</th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {[...pipelines].map(([pipeline, [last, ...others]]) =>
            last ? (
              <tr key={pipeline}>
                <td>
                  <PipelineLink of={last} />
                </td>
                <td>{others.length + 1}</td>
                <td>
                  <Link to="/x/$execution" params={{ execution: last.id }} search={{}}>
                    #{last.sequence}
                  </Link>{" "}
                  <Ago at={last.startedAt} />
                  {last.message && <div className="why">{last.message}</div>}
                </td>
              </tr>
            ) : null,
          )}
        </tbody>
      </table>
    </div>
  );
}
