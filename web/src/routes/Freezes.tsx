import { freezes } from "../lib/kinds";
import { listAt, textAt } from "../lib/yaml";
import { DocumentPage, DocumentsPage, usePlace } from "../ui/Document";
import { Table } from "../ui/List";

/** Freezes lists a scope's deployment freezes. */
export function Freezes() {
  return <DocumentsPage of={freezes} />;
}

/** Freeze is a time in which nothing is deployed that it concerns. */
export function Freeze() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={freezes}
      id={id}
      page={["freezes", id]}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["State", textAt(doc, "status") === "Enabled" ? "enabled: it counts" : "disabled: it stops nothing"],
      ]}
      tabs={(doc) => [
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
