import { Link, useNavigate } from "@tanstack/react-router";
import { call, type Execution, newKey, part, type Schemas } from "../lib/api";
import { Confirm } from "../ui/Confirm";
import { usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { List, Table } from "../ui/List";
import { Ago } from "../ui/Time";

type Placement = Schemas["Placement"];
type PlacementList = Schemas["PlacementList"];
type History = Schemas["History"];

/** stateOf is how well a placement is known, in the words of the command line. */
function stateOf(p: Placement): string {
  if (p.trouble) return "unreachable";
  if (!p.watched) return "unwatched";
  return p.drift?.length ? "drifted" : "watched";
}

/** versionsOf says what runs, with how many of each if there are several. */
function versionsOf(versions: Schemas["Version"][], artifact?: string): string {
  if (versions.length === 0) return artifact ?? "";
  if (versions.length === 1) return versions[0]?.image ?? "";
  return versions.map((v) => `${v.image} (${v.instances})`).join(", ");
}

const where = (p: Placement) => [p.environment, p.infrastructure].filter(Boolean).join(" / ");

/** Placements shows what runs where: of a service, in an environment, or in the scope. */
export function Placements({ service, environment }: { service?: string; environment?: string }) {
  const { scope } = usePlace();
  return (
    <List<PlacementList, Placement>
      what="placements"
      path="/v1/instances"
      query={{ ...scope, service, environment }}
      rows={(a) => a.placements}
      id={(p) => `${p.service} ${p.environment} ${p.infrastructure} ${p.namespace} ${p.release}`}
      text={(p) => `${p.service} ${where(p)} ${p.namespace} ${versionsOf(p.versions, p.artifact)} ${stateOf(p)}`}
      every={15_000}
      empty={
        <p>
          Nothing is known to run here. What a deployment puts somewhere is shown from then on, as long as it is there.
        </p>
      }
      columns={[
        ...(service
          ? []
          : ([
              [
                "Service",
                (p) => (
                  <Go scope={scope} page={["services", p.service]} row>
                    {p.service}
                  </Go>
                ),
              ],
            ] as [string, (p: Placement) => React.ReactNode][])),
        ["Where", where],
        ["Version", (p) => <span className="version">{versionsOf(p.versions, p.artifact)}</span>],
        ["Instances", (p) => <Pods placement={p} />],
        ["State", (p) => <State placement={p} />],
        [
          "Deployed",
          (p) => (
            <>
              <Link to="/x/$execution" params={{ execution: p.deployed.execution }} search={{}} data-row={service}>
                {p.deployed.pipeline}
              </Link>{" "}
              <Ago at={p.deployed.at} />
              {p.deployed.actor && ` by ${p.deployed.actor}`}
            </>
          ),
        ],
        ["", (p) => <Rollback placement={p} />],
      ]}
    />
  );
}

function State({ placement: p }: { placement: Placement }) {
  const state = stateOf(p);
  return (
    <>
      {state}
      {(state === "unreachable" || state === "unwatched") && (
        <div className="faint">
          as seen <Ago at={p.seenAt} />
        </div>
      )}
      {p.trouble && <div className="why">{p.trouble}</div>}
      {p.drift?.map((d) => (
        <div key={d}>{d}</div>
      ))}
    </>
  );
}

/** Pods counts a placement's instances, and lists them when it is opened. */
function Pods({ placement: p }: { placement: Placement }) {
  if (p.instances.length === 0) return p.count;
  const ready = p.instances.filter((i) => i.ready).length;
  return (
    <details>
      <summary>{ready === p.count ? p.count : `${p.count}, ${ready} ready`}</summary>
      <Table
        rows={p.instances}
        id={(i) => `${i.namespace} ${i.name}`}
        columns={[
          ["Name", (i) => <code>{i.name}</code>],
          ["Phase", (i) => [i.phase, i.ready ? "ready" : "not ready", i.canary && "canary"].filter(Boolean).join(", ")],
          ["Version", (i) => i.version ?? i.images.join(", ")],
          ["Address", (i) => i.ip],
          ["Since", (i) => i.since && <Ago at={i.since} />],
        ]}
      />
    </details>
  );
}

/** Rollback puts back what ran before, after a question. */
function Rollback({ placement: p }: { placement: Placement }) {
  const { scope } = usePlace();
  const navigate = useNavigate();
  return (
    <Confirm
      word="Roll back"
      question={`Roll back ${p.service} in ${where(p)}?`}
      danger
      act={async () => {
        const e = await call<Execution>(`/v1/services/${part(p.service)}/rollback`, {
          method: "POST",
          query: { ...scope },
          json: { environment: p.environment, infrastructure: p.infrastructure },
          key: newKey(),
        });
        await navigate({ to: "/x/$execution", params: { execution: e.id }, search: {} });
      }}
    >
      <p>
        {p.count} {p.count === 1 ? "instance runs" : "instances run"}{" "}
        <strong>{versionsOf(p.versions, p.artifact) || "a version that isn't known"}</strong>. An execution starts that
        runs the rollback steps of the stage {p.deployed.stage} of {p.deployed.pipeline}: they put back what ran there
        before that deployment.
      </p>
    </Confirm>
  );
}

/** Moments is the history of a service's instances, newest first. */
export function Moments({ service, environment }: { service: string; environment?: string }) {
  const { scope } = usePlace();
  return (
    <List<History, Schemas["Moment"]>
      what="changes"
      path={`/v1/services/${part(service)}/instances/history`}
      query={{ ...scope, environment }}
      rows={(a) => a.moments}
      id={(m) => `${m.at} ${m.target} ${m.cause} ${m.count}`}
      text={(m) => `${m.environment} ${m.infrastructure ?? ""} ${versionsOf(m.versions, m.artifact)} ${m.cause}`}
      more="Older ones"
      empty={<p>Nothing has changed in the last 30 days.</p>}
      columns={[
        ["When", (m) => <Ago at={m.at} />],
        ["Where", (m) => [m.environment, m.infrastructure].filter(Boolean).join(" / ")],
        ["Version", (m) => <span className="version">{versionsOf(m.versions, m.artifact)}</span>],
        ["Instances", (m) => m.count],
        ["Cause", (m) => m.cause],
        [
          "Execution",
          (m) =>
            m.execution && (
              <Link to="/x/$execution" params={{ execution: m.execution }} search={{}} data-row>
                {m.execution}
              </Link>
            ),
        ],
      ]}
    />
  );
}
