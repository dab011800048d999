import { call, type Entity, part } from "../lib/api";
import { templates } from "../lib/kinds";
import { textAt } from "../lib/yaml";
import { Confirm } from "../ui/Confirm";
import { DocumentPage, DocumentsPage, usePlace } from "../ui/Document";

/** A template's identifier and the version's label, of what names both. */
function partsOf(id: string): [string, string] {
  const i = id.indexOf("@");
  return i < 0 ? [id, ""] : [id.slice(0, i), id.slice(i + 1)];
}

/** Templates lists a scope's templates, each version by itself. */
export function Templates() {
  return <DocumentsPage of={templates} columns={[["Stable", (e) => e.stable && "stable"]]} />;
}

/** Template is a version of a template. */
export function Template() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={templates}
      id={id}
      facts={(doc, e) => [
        ["Description", textAt(doc, "description")],
        ["Of a", textAt(doc, "type")],
        ["Version", partsOf(e.id)[1]],
        ["Stable", e.stable ? "links without a version mean this one" : "links mean this one only by its version"],
      ]}
      actions={(_, e, again) => <Stable template={e} again={again} />}
    />
  );
}

function Stable({ template: e, again }: { template: Entity; again: () => void }) {
  const { scope } = usePlace();
  const [id, versionLabel] = partsOf(e.id);
  return (
    <Confirm
      word="Make it the stable one"
      question={`Make ${versionLabel} the stable version of ${id}?`}
      not={e.stable ? "It is the stable one" : undefined}
      act={async () => {
        await call(`/v1/templates/${part(id)}/stable`, { method: "PUT", query: { ...scope }, json: { versionLabel } });
        again();
      }}
    >
      <p>
        What links to {id} without a version has {versionLabel} from its next run on. What runs now goes on as it is.
      </p>
    </Confirm>
  );
}
