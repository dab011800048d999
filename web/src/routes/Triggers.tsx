import { Link } from "@tanstack/react-router";
import { type Entity, part, type Schemas, save } from "../lib/api";
import { triggers } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { listAt, put, textAt, type Value } from "../lib/yaml";
import { Confirm } from "../ui/Confirm";
import { DocumentPage, DocumentsPage, usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { List } from "../ui/List";
import { Ago } from "../ui/Time";

const pageOf = (pipeline: string, id: string) => ["triggers", pipeline, id];

/** Triggers lists a scope's triggers, of all pipelines. */
export function Triggers() {
  return <DocumentsPage of={triggers} page={(e) => pageOf(e.env ?? "", e.id)} columns={[["Pipeline", (e) => e.env]]} />;
}

/** Trigger is a trigger: what it listens to, and what became of that. */
export function Trigger() {
  const { scope, params } = usePlace();
  const { pipeline = "", id = "" } = params;
  return (
    <DocumentPage
      of={triggers}
      id={id}
      env={pipeline}
      above={[[`Triggers of ${nameOf(scope)}`, ["triggers"]]]}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["State", textAt(doc, "enabled") === "false" ? "disabled: it listens to nothing" : "enabled"],
        [
          "Starts",
          <Go key="pipeline" scope={scope} page={["pipelines", pipeline]}>
            {pipeline}
          </Go>,
        ],
        ["Listens to", listens(doc)],
        ["When", textAt(doc, "source", "spec", "spec", "expression")],
        ["Time zone", textAt(doc, "source", "spec", "spec", "timezone")],
        [
          "Input sets",
          listAt(doc, "inputSetRefs")
            .map((s) => String(s))
            .join(", "),
        ],
        ["Proof of deliveries", textAt(doc, "encryptedWebhookSecretIdentifier")],
      ]}
      actions={(doc, e, again) => <Enable doc={doc} trigger={e} again={again} />}
      parts={() => [["fires", "What became of it", () => <Fires pipeline={pipeline} trigger={id} />]]}
    />
  );
}

/** listens says what a trigger listens to: a webhook's host and event, or a schedule's kind. */
function listens(doc: Value): string {
  const spec = ["source", "spec"];
  return [
    ["source", "type"],
    [...spec, "type"],
    [...spec, "spec", "type"],
  ]
    .map((path) => textAt(doc, ...path))
    .filter((t) => t !== "")
    .join(", ");
}

/** Enable has a trigger listen or not: by the one key of its document. */
function Enable({ doc, trigger: e, again }: { doc: Value; trigger: Entity; again: () => void }) {
  const { scope } = usePlace();
  const on = textAt(doc, "enabled") !== "false";
  const changed = put(e.yaml ?? "", ["trigger", "enabled"], on ? "false" : "true");
  return (
    <Confirm
      word={on ? "Disable" : "Enable"}
      question={`${on ? "Disable" : "Enable"} ${e.name}?`}
      not={changed === undefined ? "Its document has no place for the key enabled" : undefined}
      act={async () => {
        await save(scope, changed ?? "", e.version);
        again();
      }}
    >
      <p>
        {on
          ? "It listens to nothing from then on. What happens meanwhile isn't made up for."
          : `From then on it starts ${e.env} by itself.`}
      </p>
    </Confirm>
  );
}

function Fires({ pipeline, trigger }: { pipeline: string; trigger: string }) {
  const { scope } = usePlace();
  return (
    <List<Schemas["FireList"], Schemas["Fire"]>
      what="events"
      path={`/v1/pipelines/${part(pipeline)}/triggers/${part(trigger)}/fires`}
      query={{ ...scope }}
      rows={(a) => a.fires}
      id={(f) => `${f.at} ${f.event} ${f.execution}`}
      text={(f) => `${f.outcome} ${f.event} ${f.subject ?? ""} ${f.reason ?? ""}`}
      every={10_000}
      more="Older ones"
      empty={<p>Nothing that it listens to has happened in the last 30 days.</p>}
      columns={[
        ["When", (f) => <Ago at={f.at} />],
        ["Outcome", (f) => f.outcome],
        ["Event", (f) => [f.event, f.subject].filter(Boolean).join(", ")],
        ["Why", (f) => f.reason && <span className={f.outcome === "Failed" ? "why" : ""}>{f.reason}</span>],
        [
          "Execution",
          (f) =>
            f.execution && (
              <Link to="/x/$execution" params={{ execution: f.execution }} search={{}} data-row>
                {f.execution}
              </Link>
            ),
        ],
      ]}
    />
  );
}
