import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { stringify } from "yaml";
import { call, type Schemas } from "../lib/api";
import {
  ask,
  type Difference,
  type Event,
  type Key,
  keyOfText,
  type Manifest,
  nameOfKey,
  type Of,
  onlyWrong,
  pathOfApp,
  type Row,
  rowsOf,
  type Tree,
  textOfKey,
  wrong,
} from "../lib/gitops";
import { nameOf } from "../lib/scope";
import { Confirm } from "../ui/Confirm";
import { Diff } from "../ui/Diff";
import { Head, Parts, usePlace } from "../ui/Document";
import { Facts } from "../ui/Facts";
import { Go, useSet } from "../ui/Go";
import { List, Table } from "../ui/List";
import { Awaited, Loading, ProblemCard } from "../ui/states";
import { Ago } from "../ui/Time";
import { Word } from "../ui/Word";
import { Yaml } from "../ui/Yaml";
import { sourcesOf } from "./GitOps";

type App = Schemas["GitOpsApplication"];

/** So long does a dialog wait for an agent's answer; what was asked is done when the agent is there. */
const patience = 10_000;

/** Application is an application: what it has in its cluster, how that is other than in Git, and what was there before. */
export function Application() {
  const { scope, params } = usePlace();
  const { agent = "", name = "" } = params;
  const of: Of = { scope, agent, name };
  const { data, error, refetch } = useQuery({
    queryKey: ["application", of],
    queryFn: ({ signal }) => call<App>(pathOfApp(of), { query: { ...scope }, signal }),
    refetchInterval: 5000,
  });
  if (!data) {
    return <Awaited title={name} what="the application" rows={10} problem={error} again={() => void refetch()} />;
  }
  const s = data.summary;
  return (
    <main id="main">
      <Head above={[[`GitOps of ${nameOf(scope)}`, ["gitops"]]]} name={name}>
        <Actions of={of} app={data} />
      </Head>
      {s?.hold && (
        <p className="banner" role="status">
          It is held: {s.hold}
        </p>
      )}
      <Facts
        facts={[
          ["Sync", s ? <Word key="sync" word={s.sync.status} /> : "The agent hasn't reported it yet"],
          [
            "Health",
            s && (
              <span key="health">
                <Word word={s.health.status} /> {s.health.message}
              </span>
            ),
          ],
          ["Revision", s?.sync.revision && <code key="revision">{s.sync.revision}</code>],
          ["From", sourcesOf(data.sources)],
          [
            "To",
            [data.destination.name ?? data.destination.server, data.destination.namespace].filter(Boolean).join(" "),
          ],
          ["Syncs", data.syncPolicy],
          ["Objects", s && counted(s.counts)],
          ["Operation", s?.operation && <Operation key="operation" operation={s.operation} />],
          ["Trouble", s?.conditions?.map((c) => c.message).join("; ")],
          [
            "Made by",
            data.applicationSet && (
              <Go key="set" scope={scope} page={["gitops", "sets", agent, data.applicationSet]}>
                {data.applicationSet}
              </Go>
            ),
          ],
          ["As of", data.reportedAt && <Ago key="at" at={data.reportedAt} />],
        ]}
      />
      <Parts
        parts={[
          ["tree", "Objects", () => <Objects of={of} />],
          ["diff", "Difference", () => <Differences of={of} />],
          ["history", "History", () => <History of={of} />],
          ["document", "Document", () => <Yaml text={stringify(data.application ?? {})} label="The document" />],
        ]}
      />
    </main>
  );
}

function counted(c: Schemas["GitOpsProtocolCounts"]): string {
  const of = (n: number | undefined, word: string) => (n ? `${n} ${word}` : "");
  return [
    `${c.objects}`,
    of(c.outOfSync, "out of sync"),
    of(c.degraded, "degraded"),
    of(c.missing, "missing"),
    of(c.toPrune, "to prune"),
    of(c.orphaned, "of nobody"),
  ]
    .filter(Boolean)
    .join(", ");
}

function Operation({ operation: o }: { operation: Schemas["GitOpsProtocolOperationSummary"] }) {
  return (
    <>
      <Word word={o.phase} /> {o.by?.automated ? "by itself" : o.by?.username && `by ${o.by.username}`}{" "}
      <Ago at={o.finishedAt ?? o.startedAt} />
      {o.message && <div>{o.message}</div>}
    </>
  );
}

/** useAct asks the agent for something, and has the page read anew what came of it. */
function useAct(of: Of) {
  const queries = useQueryClient();
  return async (what: string, json?: unknown, method?: string) => {
    await ask(of, what, { json, method, patience });
    await queries.invalidateQueries({ predicate: (q) => ["application", "agent"].includes(String(q.queryKey[0])) });
  };
}

function Actions({ of, app }: { of: Of; app: App }) {
  const act = useAct(of);
  const s = app.summary;
  const runs = s?.operation?.phase === "Running" || s?.operation?.phase === "Terminating";
  return (
    <div className="row actions">
      <Confirm word="Refresh" question={`Refresh ${of.name}?`} act={(f) => act("refresh", { hard: f.has("hard") })}>
        <p>The agent compares it anew with what Git has. It changes nothing, unless it syncs by itself.</p>
        <label className="check">
          <input type="checkbox" name="hard" /> Read and render everything anew
        </label>
      </Confirm>
      <Confirm
        word="Sync"
        question={`Sync ${of.name}?`}
        not={runs ? "An operation is under way" : undefined}
        act={(f) => act("sync", { prune: f.has("prune") })}
      >
        <p>The cluster gets what Git has{s?.hold && ", and the application is held no more"}. What differs now:</p>
        <Differences of={of} short />
        <label className="check">
          <input type="checkbox" name="prune" /> Delete what Git doesn't have any more
        </label>
      </Confirm>
      {runs && (
        <Confirm word="Terminate" question="Terminate the operation?" danger act={() => act("terminate")}>
          <p>What it has applied by now stays. Hooks that run are deleted.</p>
        </Confirm>
      )}
      {s?.hold ? (
        <Confirm word="Release" question={`Release ${of.name}?`} act={() => act("hold", undefined, "DELETE")}>
          <p>It follows Git again; if it syncs by itself, it does at once.</p>
        </Confirm>
      ) : (
        <Confirm
          word="Hold"
          question={`Hold ${of.name}?`}
          act={(f) => act("hold", { reason: String(f.get("reason")), until: String(f.get("until")) }, "PUT")}
        >
          <p>It stays what it was after its last sync, whatever Git has.</p>
          <label>
            Until
            <select name="until">
              <option value="newCommit">Git has something else</option>
              <option value="manual">somebody releases it</option>
            </select>
          </label>
          <label>
            Reason
            <input name="reason" maxLength={256} autoComplete="off" />
          </label>
        </Confirm>
      )}
    </div>
  );
}

/** useAgent is an agent's answer to a question about an application. */
function useAgent<T>(of: Of, what: string, json: unknown = {}) {
  return useQuery({
    queryKey: ["agent", of, what, json],
    queryFn: async ({ signal }) => (await ask<T>(of, what, { json, signal })) ?? null,
    staleTime: 10_000,
    retry: false,
  });
}

/** Asked shows what an agent answers, and until then that it was asked. */
function Asked<T>(props: { of: Of; what: string; json?: unknown; children: (data: T) => React.ReactNode }) {
  const { data, error, refetch, isPending } = useAgent<T>(props.of, props.what, props.json);
  if (error) return <ProblemCard problem={error} again={() => void refetch()} />;
  if (isPending) return <Loading what="the agent's answer" rows={4} />;
  return <>{data === null || data === undefined ? <p>The agent had nothing to say.</p> : props.children(data)}</>;
}

/** From so many objects on only those that aren't as they are to be are shown at first. */
const many = 300;

function Objects({ of }: { of: Of }) {
  return (
    <Asked<Tree> of={of} what="tree">
      {(tree) => <Drawn of={of} tree={tree} />}
    </Asked>
  );
}

function Drawn({ of, tree }: { of: Of; tree: Tree }) {
  const { show, object, q } = useSearch({ strict: false }) as { show?: string; object?: string; q?: string };
  const set = useSet();
  const rows = rowsOf(tree);
  const few = show === "wrong" || (show !== "all" && rows.length > many);
  const chosen = (few ? onlyWrong(rows) : rows).filter(
    (r) => !q || nameOfKey(r.node).toLowerCase().includes(q.toLowerCase()),
  );
  const shown = chosen.slice(0, 400);
  const key = object ? keyOfText(object) : undefined;
  return (
    <>
      <div className="filters">
        <label className="check">
          <input type="checkbox" checked={few} onChange={(e) => set({ show: e.target.checked ? "wrong" : "all" })} />
          Only what isn't synced or healthy
        </label>
        <span className="faint" role="status">
          {shown.length} of {rows.length} objects
          {tree.omitted ? `; ${tree.omitted} more had no room in the answer` : ""}
        </span>
      </div>
      {shown.length === 0 ? (
        <p className="empty">{rows.length === 0 ? "It has no objects yet." : "All of it is synced and healthy."}</p>
      ) : (
        <Table
          rows={shown}
          id={(r) => `${textOfKey(r.node)} ${r.node.uid}`}
          columns={[
            [
              "Object",
              (r) => (
                <div className="node" style={{ paddingLeft: `${r.depth * 1.4}rem` }}>
                  {r.depth > 0 && <span aria-hidden="true">└ </span>}
                  <button type="button" className="link" data-row onClick={() => set({ object: textOfKey(r.node) })}>
                    {nameOfKey(r.node)}
                  </button>
                  {r.depth > 0 && <span className="sr">, at depth {r.depth}</span>}
                </div>
              ),
            ],
            ["Sync", (r) => (r.node.hook ? "hook" : <Word word={r.node.status} />)],
            ["Health", (r) => <NodeHealth row={r} />],
            [
              "What",
              (r) => [...(r.node.info ?? []).map((i) => `${i.name} ${i.value}`), ...(r.node.images ?? [])].join(", "),
            ],
            ["Made", (r) => r.node.createdAt && <Ago at={r.node.createdAt} />],
          ]}
        />
      )}
      {key && <ObjectCard key={object} of={of} object={key} close={() => set({ object: undefined })} />}
    </>
  );
}

function NodeHealth({ row: { node } }: { row: Row }) {
  return (
    <>
      <Word word={node.health?.status} />
      {wrong(node) && node.health?.message && <div className="why">{node.health.message}</div>}
    </>
  );
}

/** ObjectCard is an object of the cluster as it is there, with its events. */
function ObjectCard({ of, object, close }: { of: Of; object: Key; close: () => void }) {
  return (
    <section className="card" aria-labelledby="object">
      <div className="row">
        <h2 id="object">{nameOfKey(object)}</h2>
        <span className="grow" />
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <Asked<Manifest[]> of={of} what="manifests" json={{ ...object, live: true }}>
        {(found) =>
          found.length === 0 ? (
            <p>It isn't in the cluster.</p>
          ) : (
            found.map((m) => (
              <div key={textOfKey(m)}>
                <Yaml text={m.text ?? ""} label={nameOfKey(m)} />
                {m.cut && <p>There was no room for the rest.</p>}
              </div>
            ))
          )
        }
      </Asked>
      <h3>Events</h3>
      <Asked<Event[]> of={of} what="events" json={object}>
        {(events) =>
          events.length === 0 ? (
            <p>There are none.</p>
          ) : (
            <Table
              rows={events}
              id={(e) => `${e.lastTimestamp} ${e.reason} ${e.message}`}
              columns={[
                ["When", (e) => e.lastTimestamp && <Ago at={e.lastTimestamp} />],
                ["Type", (e) => e.type],
                ["Reason", (e) => e.reason],
                ["Message", (e) => e.message],
              ]}
            />
          )
        }
      </Asked>
    </section>
  );
}

/** Differences shows how what is in the cluster is other than what Git has; in short, which objects. */
function Differences({ of, short }: { of: Of; short?: boolean }) {
  return (
    <Asked<Difference[]> of={of} what="diff">
      {(found) =>
        found.length === 0 ? (
          <p>Nothing: the cluster has what Git has.</p>
        ) : short ? (
          <ul>
            {found.map((d) => (
              <li key={textOfKey(d)}>
                {nameOfKey(d)} {d.prune && <strong>isn't in Git any more</strong>}
              </li>
            ))}
          </ul>
        ) : (
          found.map((d) => (
            <section key={textOfKey(d)} aria-label={nameOfKey(d)}>
              <h2>
                {nameOfKey(d)} {d.prune && <span className="tag">isn't in Git any more</span>}
              </h2>
              {d.message && <p className="why">{d.message}</p>}
              {d.text && <Diff text={d.text} />}
              {d.cut && <p>There was no room for the rest.</p>}
            </section>
          ))
        )
      }
    </Asked>
  );
}

function History({ of }: { of: Of }) {
  const act = useAct(of);
  type Entry = Schemas["ArgoHistoryEntry"];
  return (
    <List<Schemas["GitOpsHistoryList"], Entry>
      what="syncs"
      path={`${pathOfApp(of)}/history`}
      query={{ ...of.scope }}
      rows={(a) => a.history}
      id={(h) => String(h.id)}
      more="Older ones"
      empty={<p>It was never synced.</p>}
      columns={[
        ["Id", (h) => h.id],
        ["Revision", (h) => <code>{(h.revision ?? h.revisions?.join(", ") ?? "").slice(0, 40)}</code>],
        ["Deployed", (h) => <Ago at={h.deployedAt} />],
        ["By", (h) => (h.initiatedBy?.automated ? "itself" : h.initiatedBy?.username)],
        [
          "",
          (h) => (
            <Confirm
              word="Roll back"
              question={`Roll ${of.name} back to ${h.id}?`}
              danger
              act={(f) => act("rollback", { id: h.id, prune: f.has("prune") })}
            >
              <p>
                The cluster gets what the revision <code>{h.revision ?? h.revisions?.join(", ")}</code> had, without
                hooks. Git stays as it is, and the application stays at that revision until Git has something else, or
                until somebody syncs or releases it.
              </p>
              <label className="check">
                <input type="checkbox" name="prune" /> Delete what that revision didn't have
              </label>
            </Confirm>
          ),
        ],
      ]}
    />
  );
}

/** ApplicationSet is a set of applications: those that it has made. */
export function ApplicationSet() {
  const { scope, params } = usePlace();
  const { agent = "", name = "" } = params;
  const of: Of = { scope, agent, name, set: true };
  const act = useAct(of);
  const { data, error, refetch } = useQuery({
    queryKey: ["application", of],
    queryFn: ({ signal }) => call<Schemas["GitOpsApplicationSet"]>(pathOfApp(of), { query: { ...scope }, signal }),
    refetchInterval: 10_000,
  });
  if (!data) {
    return <Awaited title={name} what="the application set" problem={error} again={() => void refetch()} />;
  }
  return (
    <main id="main">
      <Head above={[[`GitOps of ${nameOf(scope)}`, ["gitops"]]]} name={name}>
        <Confirm word="Refresh" question={`Refresh ${name}?`} act={() => act("refresh")}>
          <p>The agent asks its generators anew, and makes, changes or deletes applications by what they say.</p>
        </Confirm>
      </Head>
      <Facts
        facts={[
          ["Generators", data.generators.join(", ")],
          ["From", sourcesOf(data.sources)],
          ["May", data.applicationsSync],
          ["If it goes", data.preserveResourcesOnDeletion && "what its applications deployed stays"],
          ["As of", data.reportedAt && <Ago key="at" at={data.reportedAt} />],
        ]}
      />
      <Parts
        parts={[
          [
            "applications",
            "Applications",
            () =>
              data.applications.length === 0 ? (
                <p className="empty">It has made none yet.</p>
              ) : (
                <Table
                  rows={data.applications}
                  id={(a) => a}
                  columns={[
                    [
                      `The ${data.applications.length} applications of ${data.applicationCount}`,
                      (a) => (
                        <Go scope={scope} page={["gitops", "apps", agent, a]} row>
                          {a}
                        </Go>
                      ),
                    ],
                  ]}
                />
              ),
          ],
          [
            "conditions",
            "Conditions",
            () => (
              <Table
                rows={data.conditions}
                id={(c) => c.type}
                columns={[
                  ["Condition", (c) => c.type],
                  ["Is", (c) => c.status],
                  ["Why", (c) => c.message],
                  ["Since", (c) => <Ago at={c.lastTransitionTime} />],
                ]}
              />
            ),
          ],
          ["document", "Document", () => <Yaml text={stringify(data.applicationSet ?? {})} label="The document" />],
        ]}
      />
    </main>
  );
}
