import { useQueryClient } from "@tanstack/react-query";
import { call, type Entity, part, save } from "../lib/api";
import { secrets } from "../lib/kinds";
import { put, textAt, type Value } from "../lib/yaml";
import { Confirm } from "../ui/Confirm";
import { DocumentPage, DocumentsPage, usePlace } from "../ui/Document";
import { Copy } from "../ui/states";

/** Secrets lists a scope's secrets: their names, never their values. */
export function Secrets() {
  return (
    <DocumentsPage of={secrets}>
      <NewSecret />
    </DocumentsPage>
  );
}

/** NewSecret makes a secret whose value Slipway keeps. */
function NewSecret() {
  const { scope } = usePlace();
  const queries = useQueryClient();
  return (
    <Confirm
      word="New secret"
      question="A new secret"
      act={async (form) => {
        const id = String(form.get("identifier"));
        const place = [
          ["orgIdentifier", scope.org],
          ["projectIdentifier", scope.project],
        ]
          .filter(([, v]) => v)
          .map(([k, v]) => `  ${k}: ${JSON.stringify(v)}\n`)
          .join("");
        await save(
          scope,
          `secret:
  type: SecretText
  name: ${JSON.stringify(id)}
  identifier: ${JSON.stringify(id)}
${place}  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: ${JSON.stringify(String(form.get("value")))}
`,
          0,
        );
        await queries.invalidateQueries({ queryKey: ["list", "/v1/entities/secret"] });
      }}
    >
      <label>
        Identifier
        <input
          name="identifier"
          required
          pattern="[a-zA-Z_][0-9a-zA-Z_$]{0,127}"
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <ValueField />
      <p>Slipway keeps the value encrypted, and gives it to the delegates whose tasks name it. Nobody is shown it.</p>
    </Confirm>
  );
}

function ValueField() {
  return (
    <label>
      Value
      <textarea className="secret" name="value" rows={3} required autoComplete="off" spellCheck={false} />
    </label>
  );
}

/** Secret is a secret: who keeps it, how it is named, and a form that sets its value. */
export function Secret() {
  const { scope, params } = usePlace();
  const id = params.id ?? "";
  const reference = `<+secrets.getValue("${scope.project ? "" : scope.org ? "org." : "account."}${id}")>`;
  return (
    <DocumentPage
      of={secrets}
      id={id}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["Type", textAt(doc, "type")],
        ["Kept by", textAt(doc, "spec", "secretManagerIdentifier")],
        ["Called there", textAt(doc, "spec", "valueType") === "Reference" && textAt(doc, "spec", "value")],
        [
          "Named by",
          <span key="reference">
            <code>{reference}</code> <Copy text={reference}>Copy</Copy>
          </span>,
        ],
      ]}
      actions={(doc, e, again) => <SetValue doc={doc} entity={e} again={again} />}
    />
  );
}

/** SetValue sets the value of a secret that Slipway keeps: of a text by its document, of a file by its content. */
function SetValue({ doc, entity: e, again }: { doc: Value; entity: Entity; again: () => void }) {
  const { scope } = usePlace();
  const file = textAt(doc, "type") === "SecretFile";
  const blank = put(e.yaml ?? "", ["secret", "spec", "value"], '""');
  const text = textAt(doc, "type") === "SecretText" && textAt(doc, "spec", "valueType") === "Inline";
  return (
    <Confirm
      word={file ? "Set the content" : "Set the value"}
      question={`${file ? "The content" : "The value"} of ${e.name}`}
      not={file || (text && blank !== undefined) ? undefined : "Its value isn't kept by Slipway in one text"}
      act={async (form) => {
        if (file) {
          const bytes = form.get("file") as File;
          await call(`/v1/secrets/${part(e.id)}/file`, { method: "PUT", query: { ...scope }, bytes });
        } else {
          const value = JSON.stringify(String(form.get("value")));
          await save(scope, put(e.yaml ?? "", ["secret", "spec", "value"], value) ?? "", e.version);
        }
        again();
      }}
    >
      {file ? (
        <label>
          File
          <input type="file" name="file" required />
        </label>
      ) : (
        <ValueField />
      )}
      <p>It takes the place of the one before, which can't be brought back. Tasks that begin from then on get it.</p>
    </Confirm>
  );
}
