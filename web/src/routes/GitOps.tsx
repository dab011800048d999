import { useSearch } from "@tanstack/react-router";
import type { Schemas } from "../lib/api";
import { nameOf } from "../lib/scope";
import { Parts, usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { Choice, List } from "../ui/List";
import { Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { Word } from "../ui/Word";

type App = Schemas["GitOpsApplication"];
type AppSet = Schemas["GitOpsApplicationSet"];
type Agent = Schemas["GitOpsAgent"];

/** GitOps shows what agents keep as Git has it. */
export function GitOps() {
  const { scope } = usePlace();
  return (
    <main id="main">
      <Title text="GitOps" />
      <p className="faint">of {nameOf(scope)}</p>
      <Parts
        parts={[
          ["applications", "Applications", () => <Applications />],
          ["sets", "Application sets", () => <Sets />],
          ["agents", "Agents", () => <Agents />],
        ]}
      />
    </main>
  );
}

const named = (...words: string[]): [string, string][] => words.map((w) => [w, w]);

/** sourcesOf says where an application comes from. */
export function sourcesOf(
  sources: { repoURL: string; path?: string; chart?: string; targetRevision?: string }[],
): string {
  return sources
    .map((s) => [s.repoURL, s.chart ?? s.path, s.targetRevision && `at ${s.targetRevision}`].filter(Boolean).join(" "))
    .join(", ");
}

function Applications() {
  const { scope } = usePlace();
  const { sync, health } = useSearch({ strict: false }) as { sync?: string; health?: string };
  return (
    <List<Schemas["GitOpsApplicationList"], App>
      what="applications"
      path="/v1/gitops/applications"
      query={{ ...scope, sync, health }}
      rows={(a) => a.applications}
      id={(a) => `${a.agent} ${a.name}`}
      text={(a) => `${a.name} ${a.agent} ${sourcesOf(a.sources)} ${a.destination.namespace ?? ""}`}
      chosen={[sync, health].filter(Boolean).join(", ")}
      every={10_000}
      fields={
        <>
          <Choice name="sync" label="Sync" options={named("Synced", "OutOfSync", "Unknown")} />
          <Choice
            name="health"
            label="Health"
            options={named("Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown")}
          />
        </>
      }
      empty={
        <>
          <p>No application is saved here yet. To make an agent, and to give it an application of Argo CD's:</p>
          <pre>{"slipway gitops agent create NAME\nslipway apply -f application.yaml --agent NAME"}</pre>
        </>
      }
      columns={[
        [
          "Name",
          (a) => (
            <Go scope={a} page={["gitops", "apps", a.agent, a.name]} row>
              {a.name}
            </Go>
          ),
        ],
        ["Sync", (a) => (a.summary ? <Word word={a.summary.sync.status} /> : "not reported")],
        ["Health", (a) => <Word word={a.summary?.health.status} />],
        ["Revision", (a) => <code>{a.summary?.sync.revision?.slice(0, 12)}</code>],
        ["From", (a) => <span className="version">{sourcesOf(a.sources)}</span>],
        ["To", (a) => [a.destination.name ?? a.destination.server, a.destination.namespace].filter(Boolean).join(" ")],
        ["Agent", (a) => a.agent],
        ["As of", (a) => a.reportedAt && <Ago at={a.reportedAt} />],
      ]}
    />
  );
}

function Sets() {
  const { scope } = usePlace();
  return (
    <List<Schemas["GitOpsApplicationSetList"], AppSet>
      what="application sets"
      path="/v1/gitops/applicationsets"
      query={{ ...scope }}
      rows={(a) => a.applicationSets}
      id={(s) => `${s.agent} ${s.name}`}
      text={(s) => `${s.name} ${s.agent}`}
      empty={<p>No set of applications is saved here.</p>}
      columns={[
        [
          "Name",
          (s) => (
            <Go scope={s} page={["gitops", "sets", s.agent, s.name]} row>
              {s.name}
            </Go>
          ),
        ],
        ["Applications", (s) => s.applicationCount],
        ["Made by", (s) => s.generators.join(", ")],
        ["From", (s) => sourcesOf(s.sources)],
        ["Agent", (s) => s.agent],
        ["As of", (s) => s.reportedAt && <Ago at={s.reportedAt} />],
      ]}
    />
  );
}

function Agents() {
  const { scope } = usePlace();
  return (
    <List<Schemas["GitOpsAgentList"], Agent>
      what="agents"
      path="/v1/gitops/agents"
      query={{ ...scope }}
      rows={(a) => a.agents}
      id={(a) => a.id}
      text={(a) => `${a.name} ${a.id} ${a.connected ? "connected" : ""}`}
      every={10_000}
      empty={
        <>
          <p>No agent is made here yet. To make one, and to be told what installs it in its cluster:</p>
          <pre>slipway gitops agent create NAME</pre>
        </>
      }
      columns={[
        ["Name", (a) => a.name],
        ["State", (a) => (a.connected ? "connected" : a.lastSeen ? "not heard of" : "never heard of")],
        ["Heard of", (a) => a.lastSeen && <Ago at={a.lastSeen} />],
        ["Namespace", (a) => a.namespace],
        ["Kubernetes", (a) => a.kubernetesVersion],
        ["Version", (a) => a.version],
      ]}
    />
  );
}
