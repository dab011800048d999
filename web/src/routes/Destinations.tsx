import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, type Schemas } from "../lib/api";
import { destinations } from "../lib/kinds";
import { textAt } from "../lib/yaml";
import { capital, DocumentPage, usePlace } from "../ui/Document";
import { Edit } from "../ui/Edit";
import { Go } from "../ui/Go";
import { List } from "../ui/List";
import { Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { Word } from "../ui/Word";

type Stream = Schemas["AuditStream"];
type Answer = Schemas["AuditStreams"] & { nextPageToken?: string };

const path = "/v1/audit/destinations";

/** How often it is looked how far the trail has come. */
const every = 15_000;

/** Destinations shows where the account's audit trail is streamed to, and how far it has come. */
export function Destinations() {
  const { scope } = usePlace();
  if (scope.org) {
    return (
      <main id="main">
        <Title text="Streaming destinations" />
        <p className="empty">
          The audit trail is the account's, and so is where it is streamed to.{" "}
          <Go scope={{}} page={["audit", "destinations"]}>
            Those of Account
          </Go>
        </p>
      </main>
    );
  }
  return (
    <main id="main">
      <nav aria-label="Where this is" className="crumbs">
        <Go scope={scope} page={["audit"]}>
          Audit trail
        </Go>
      </nav>
      <Title text="Streaming destinations" />
      <div className="row">
        <p className="faint">to which the audit trail of the account is brought</p>
        <span className="grow" />
        <Edit scope={scope} of={destinations} />
      </div>
      <List<Answer, Stream>
        what="streaming destinations"
        path={path}
        query={{ limit: undefined }}
        rows={(a) => a.destinations}
        id={(d) => d.identifier}
        text={(d) => `${d.name} ${d.identifier} ${d.type} ${stateOf(d)} ${d.error ?? ""}`}
        every={every}
        empty={
          <>
            <p>The audit trail is streamed to nobody. To save a destination:</p>
            <pre>slipway apply --org '' -f destination.yaml</pre>
          </>
        }
        columns={[
          [
            "Name",
            (d) => (
              <Go scope={{}} page={["audit", "destinations", d.identifier]} row>
                {d.name || d.identifier}
              </Go>
            ),
          ],
          ["Type", (d) => d.type],
          ["State", (d) => <Word word={stateOf(d)} />],
          ["Has records up to", (d) => d.sequence || "none"],
          ["Lags behind by", lagOf],
          ["Last took some", (d) => d.sent && <Ago at={d.sent} />],
          ["What is wrong", (d) => d.error],
        ]}
      />
    </main>
  );
}

/** stateOf is how a destination fares, in a word. */
function stateOf(d: Stream): string {
  if (d.status !== "ACTIVE") return "Paused";
  return d.failures ? "Failing" : "Active";
}

const records = (n: number) => (n === 1 ? "1 record" : `${n} records`);

const lagOf = (d: Stream) =>
  d.lag || d.missed ? `${records(d.lag)}${d.missed ? `, and never gets ${records(d.missed)}` : ""}` : "nothing";

/** Destination is one of them. */
export function Destination() {
  const { params } = usePlace();
  const id = params.id ?? "";
  const { data, error } = useQuery({
    queryKey: ["list", path],
    queryFn: ({ signal }) => call<Answer>(path, { signal }),
    refetchInterval: every,
  });
  const stream = data?.destinations.find((d) => d.identifier === id);
  return (
    <DocumentPage
      of={destinations}
      id={id}
      above={[[`${capital(destinations.many)} of Account`, ["audit", "destinations"]]]}
      facts={(doc) => [
        ["Type", textAt(doc, "spec", "type")],
        ["To", textAt(doc, "spec", "url") || textAt(doc, "spec", "bucket")],
        ...(stream ? progress(stream) : []),
        ["How far it has come", error && !stream && `can't be read: ${error.message}`],
      ]}
    />
  );
}

/** progress is how far the trail has come, in facts. */
function progress(d: Stream): [string, ReactNode][] {
  return [
    ["State", stateOf(d)],
    ["Has records up to", d.sequence ? String(d.sequence) : "none"],
    ["Lags behind by", lagOf(d)],
    ["Last took some", d.sent && <Ago key="sent" at={d.sent} />],
    ["What is wrong", d.error],
    ["Failing since", d.failingSince && <Ago key="since" at={d.failingSince} />],
    ["Refused in a row", d.failures ? String(d.failures) : ""],
    ["Is tried again", d.next && <Ago key="next" at={d.next} />],
  ];
}
