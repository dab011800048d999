import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call, newKey, part, type Schemas } from "../lib/api";
import { connectors } from "../lib/kinds";
import { duration } from "../lib/time";
import { at, listAt, textAt, type Value } from "../lib/yaml";
import { DocumentPage, DocumentsPage, usePlace } from "../ui/Document";
import { useSet } from "../ui/Go";
import { Table } from "../ui/List";
import { Loading, ProblemCard } from "../ui/states";

/** Connectors lists a scope's connectors. */
export function Connectors() {
  return <DocumentsPage of={connectors} />;
}

/** Connector is a connector: what it reaches, and whether it does. */
export function Connector() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={connectors}
      id={id}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["Type", textAt(doc, "type")],
        ["Reaches", reaches(at(doc, "spec"))],
        [
          "Delegates with the tags",
          listAt(doc, "spec", "delegateSelectors")
            .map((s) => String(s))
            .join(", "),
        ],
      ]}
      parts={() => [["test", "Test of the connection", () => <Test connector={id} />]]}
    />
  );
}

/** reaches is the address in a connector, by whatever key its type has it. */
function reaches(spec: Value): string {
  for (const key of ["url", "dockerRegistryUrl", "helmRepoUrl", "artifactoryServerUrl", "nexusServerUrl", "host"]) {
    const found = textAt(spec, key);
    if (found) return found;
  }
  return textAt(spec, "credential", "spec", "masterUrl");
}

/** Test has a delegate try the connection. Which test is shown stands in the address. */
function Test({ connector }: { connector: string }) {
  const { scope } = usePlace();
  const { test } = useSearch({ strict: false }) as { test?: string };
  const set = useSet();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const begin = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const begun = await call<Schemas["StartedTest"]>(`/v1/connectors/${part(connector)}/test`, {
        method: "POST",
        query: { ...scope },
        key: newKey(),
      });
      set({ test: begun.execution });
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p>A delegate that may use this connector tries what steps do with it. It changes nothing.</p>
      <button type="button" className="primary" disabled={busy} onClick={() => void begin()}>
        {busy ? "Beginning…" : "Test the connection"}
      </button>
      {problem && <ProblemCard problem={problem} />}
      {test && <Outcome test={test} />}
    </>
  );
}

const outcomes: Record<Schemas["ConnectorTest"]["status"], string> = {
  RUNNING: "A delegate is trying…",
  SUCCESS: "The connection works.",
  PARTIAL: "It is let in, but may not do all that was tried.",
  FAILURE: "The connection doesn't work.",
  UNKNOWN: "It couldn't be found out.",
  NO_DELEGATE: "No delegate could try.",
};

function Outcome({ test }: { test: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["connector test", test],
    queryFn: ({ signal }) => call<Schemas["ConnectorTest"]>(`/v1/executions/${part(test)}/test`, { signal }),
    refetchInterval: (q) => (q.state.data && q.state.data.status !== "RUNNING" ? false : 700),
  });
  if (!data) {
    return error ? <ProblemCard problem={error} again={() => void refetch()} /> : <Loading what="the test" rows={2} />;
  }
  return (
    <>
      <p role="status">
        <strong>{outcomes[data.status] ?? data.status}</strong> {data.message}
        {data.delegate && ` Tried by the delegate ${data.delegate.name} on ${data.delegate.host}.`}
      </p>
      {data.checks.length > 0 && (
        <Table
          rows={data.checks}
          id={(c) => c.name}
          columns={[
            ["Check", (c) => c.name],
            ["Outcome", (c) => (c.ok ? "passed" : <span className="why">failed</span>)],
            ["What was found", (c) => c.message],
            ["Took", (c) => duration(c.took)],
          ]}
        />
      )}
    </>
  );
}
