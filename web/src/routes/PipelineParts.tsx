import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call, type EntityList, type FireList, type InputSetList, part } from "../lib/api";
import { inputSets, type Kind, triggers as kindOfTriggers } from "../lib/kinds";
import { Edit } from "../ui/Edit";
import { Go } from "../ui/Go";
import { Empty, Finding, Loading, ProblemCard } from "../ui/states";
import { Ago } from "../ui/Time";
import type { Of } from "./Pipeline";

/** InputSets are the input sets and overlays of a pipeline, and whether they fit it. */
export function InputSets({ of: { org, project, pipeline } }: { of: Of }) {
  const list = useQuery({
    queryKey: ["inputSets", org, project, pipeline],
    queryFn: ({ signal }) =>
      call<InputSetList>(`/v1/pipelines/${part(pipeline)}/input-sets`, { query: { org, project }, signal }),
  });
  if (list.isPending) return <Loading what="its input sets" rows={3} />;
  if (list.error) return <ProblemCard problem={list.error} again={() => void list.refetch()} />;
  const sets = list.data.inputSets;
  return (
    <>
      <New of={{ org, project, pipeline }} kind={inputSets} />
      {sets.length === 0 && <Empty>It has no input set.</Empty>}
      {sets.length > 0 && (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">Fits the pipeline</th>
                <th scope="col">Run</th>
              </tr>
            </thead>
            <tbody>
              {sets.map((s) => (
                <tr key={s.id}>
                  <td>
                    <Go
                      scope={{ org, project }}
                      page={[s.kind === "overlayInputSet" ? "overlays" : "input-sets", pipeline, s.id]}
                    >
                      {s.name || s.id}
                    </Go>
                    {s.name !== s.id && <div className="faint">{s.id}</div>}
                  </td>
                  <td>{s.kind === "overlayInputSet" ? "Overlay" : "Input set"}</td>
                  <td>
                    {s.valid ? "yes" : "no"}
                    {s.wrong.map((w) => (
                      <div key={`${w.path} ${w.line} ${w.message}`} className="why">
                        <Finding of={w} />
                      </div>
                    ))}
                  </td>
                  <td>
                    <Link
                      to="/o/$org/p/$project/pipelines/$pipeline/run"
                      params={{ org, project, pipeline }}
                      search={{ inputSets: s.id }}
                    >
                      Run<span className="sr"> with {s.name || s.id}</span>
                    </Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** New leads to where one of what belongs to a pipeline is begun. */
function New({ of: { org, project, pipeline }, kind }: { of: Of; kind: Kind }) {
  return (
    <div className="row">
      <span className="grow" />
      <Edit scope={{ org, project }} of={kind} env={pipeline} />
    </div>
  );
}

/** Triggers are what starts a pipeline, each with what came of it last. */
export function Triggers({ of: { org, project, pipeline } }: { of: Of }) {
  const list = useQuery({
    queryKey: ["entities", "trigger", org, project, pipeline],
    queryFn: ({ signal }) =>
      call<EntityList>("/v1/entities/trigger", { query: { org, project, env: pipeline, limit: 500 }, signal }),
  });
  if (list.isPending) return <Loading what="its triggers" rows={3} />;
  if (list.error) return <ProblemCard problem={list.error} again={() => void list.refetch()} />;
  const triggers = list.data.entities;
  return (
    <>
      <New of={{ org, project, pipeline }} kind={kindOfTriggers} />
      {triggers.length === 0 && <Empty>Nothing starts it by itself: it has no trigger.</Empty>}
      <ul className="plain">
        {triggers.map((t) => (
          <Trigger key={t.id} of={{ org, project, pipeline }} id={t.id} name={t.name || t.id} />
        ))}
      </ul>
    </>
  );
}

/** Trigger opens to what its events came to, newest first. */
function Trigger({ of: { org, project, pipeline }, id, name }: { of: Of; id: string; name: string }) {
  const [open, setOpen] = useState(false);
  const fires = useQuery({
    queryKey: ["fires", org, project, pipeline, id],
    queryFn: ({ signal }) =>
      call<FireList>(`/v1/pipelines/${part(pipeline)}/triggers/${part(id)}/fires`, {
        query: { org, project, limit: 20 },
        signal,
      }),
    enabled: open,
  });
  return (
    <li>
      <details onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>
          {name} {name !== id && <span className="faint">{id}</span>}
        </summary>
        <Go scope={{ org, project }} page={["triggers", pipeline, id]}>
          The trigger
        </Go>
        {fires.isFetching && !fires.data && <Loading what="its events" rows={2} />}
        {fires.error && <ProblemCard problem={fires.error} again={() => void fires.refetch()} />}
        {fires.data?.fires.length === 0 && <Empty>No event has come yet.</Empty>}
        {(fires.data?.fires.length ?? 0) > 0 && (
          <div className="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Outcome</th>
                  <th scope="col">About</th>
                  <th scope="col">Event</th>
                </tr>
              </thead>
              <tbody>
                {fires.data?.fires.map((f) => (
                  <tr key={f.event}>
                    <td>
                      <Ago at={f.at} />
                    </td>
                    <td>
                      {f.execution ? (
                        <Link to="/x/$execution" params={{ execution: f.execution }} search={{}}>
                          {f.outcome}
                        </Link>
                      ) : (
                        f.outcome
                      )}
                      {f.reason && <div className="faint">{f.reason}</div>}
                    </td>
                    <td>{f.subject}</td>
                    <td>
                      <code>{f.event}</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </details>
    </li>
  );
}
