import type { Schemas } from "../lib/api";
import { freezes } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { exact } from "../lib/time";
import { listAt, textAt } from "../lib/yaml";
import { DocumentPage, usePlace } from "../ui/Document";
import { Edit } from "../ui/Edit";
import { Go } from "../ui/Go";
import { List, Table } from "../ui/List";
import { Title } from "../ui/states";

type Entry = Schemas["Entry"];

/** Freezes lists the deployment freezes that count in a scope: its own, and those of what is around it. */
export function Freezes() {
  const { scope } = usePlace();
  return (
    <main id="main">
      <Title text="Freezes" />
      <div className="row">
        <p className="faint">that count in {nameOf(scope)}</p>
        <span className="grow" />
        <Edit scope={scope} of={freezes} />
      </div>
      <List<Schemas["Freezes"] & { nextPageToken?: string }, Entry>
        what="freezes"
        path="/v1/freezes"
        query={{ ...scope, limit: undefined }}
        rows={(a) => a.freezes}
        id={(f) => `${f.org} ${f.project} ${f.freeze}`}
        text={(f) => `${f.name} ${f.freeze} ${stateOf(f)}`}
        every={30_000}
        empty={
          <>
            <p>No freeze stops anything here. To save one:</p>
            <pre>slipway apply -f freeze.yaml</pre>
          </>
        }
        columns={[
          [
            "Name",
            (f) => (
              <Go scope={f} page={["freezes", f.freeze]} row>
                {f.name}
              </Go>
            ),
          ],
          ["State", (f) => (f.active ? <strong>{stateOf(f)}</strong> : stateOf(f))],
          ["Of", (f) => nameOf(f)],
          ["Window", (f) => (f.start && f.end ? `${exact(f.start)} to ${exact(f.end)}` : "none within ten years")],
        ]}
      />
    </main>
  );
}

function stateOf(f: Entry): string {
  if (!f.enabled) return "disabled";
  if (f.active) return "active now";
  return f.start ? "enabled, not yet active" : "enabled, over";
}

/** Freeze is a time in which nothing is deployed that it concerns. */
export function Freeze() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={freezes}
      id={id}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["State", textAt(doc, "status") === "Enabled" ? "enabled: it counts" : "disabled: it stops nothing"],
      ]}
      parts={(doc) => [
        [
          "windows",
          "Windows",
          () => (
            <Table
              rows={listAt(doc, "windows")}
              id={(w) => JSON.stringify(w)}
              columns={[
                ["Begins", (w) => textAt(w, "startTime")],
                ["Ends", (w) => textAt(w, "endTime") || `after ${textAt(w, "duration")}`],
                ["Time zone", (w) => textAt(w, "timeZone")],
                [
                  "Again",
                  (w) =>
                    [
                      textAt(w, "recurrence", "type"),
                      textAt(w, "recurrence", "spec", "value") && `each ${textAt(w, "recurrence", "spec", "value")}`,
                      textAt(w, "recurrence", "spec", "until") && `until ${textAt(w, "recurrence", "spec", "until")}`,
                    ]
                      .filter(Boolean)
                      .join(" ") || "no",
                ],
              ]}
            />
          ),
        ],
        [
          "concerns",
          "Whom it concerns",
          () => (
            <Table
              rows={listAt(doc, "entityConfigs")}
              id={(c) => JSON.stringify(c)}
              columns={[
                ["Rule", (c) => textAt(c, "name")],
                [
                  "All of these match",
                  (c) =>
                    listAt(c, "entities").map((e) => (
                      <div key={JSON.stringify(e)}>
                        {textAt(e, "type")} {textAt(e, "filterType")}{" "}
                        {listAt(e, "entityRefs")
                          .map((r) => String(r))
                          .join(", ")}
                      </div>
                    )),
                ],
              ]}
            />
          ),
        ],
      ]}
    />
  );
}
