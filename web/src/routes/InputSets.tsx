import { useQuery } from "@tanstack/react-query";
import { call, type Entity, part, type Schemas } from "../lib/api";
import { inputSets, type Kind, overlays } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { textAt } from "../lib/yaml";
import { Confirm } from "../ui/Confirm";
import { DocumentPage, Documents, Parts, usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { Finding, Loading, ProblemCard, Title } from "../ui/states";
import { Yaml } from "../ui/Yaml";

/** InputSets lists a scope's input sets and overlays, of all pipelines. */
export function InputSets() {
  const { scope } = usePlace();
  const of = (kind: Kind, page: string) => (
    <Documents of={kind} page={(e) => [page, e.env ?? "", e.id]} columns={[["Pipeline", (e) => e.env]]} />
  );
  return (
    <main id="main">
      <Title text="Input sets" />
      <p className="faint">of {nameOf(scope)}</p>
      <Parts
        parts={[
          ["sets", "Input sets", () => of(inputSets, "input-sets")],
          ["overlays", "Overlays", () => of(overlays, "overlays")],
        ]}
      />
    </main>
  );
}

/** InputSet is an input set: its values, and whether they still fit the pipeline. */
export function InputSet() {
  return <SetPage of={inputSets} />;
}

/** Overlay is an overlay, as InputSet. */
export function Overlay() {
  return <SetPage of={overlays} />;
}

function SetPage({ of }: { of: Kind }) {
  const { scope, params } = usePlace();
  const { pipeline = "", id = "" } = params;
  return (
    <DocumentPage
      of={of}
      id={id}
      env={pipeline}
      above={[[`Input sets of ${nameOf(scope)}`, ["input-sets"]]]}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        [
          "Of the pipeline",
          <Go key="pipeline" scope={scope} page={["pipelines", pipeline]}>
            {pipeline}
          </Go>,
        ],
      ]}
      actions={(_, e, again) => <Reconcile set={e} again={again} />}
      parts={() => [["fit", "Does it fit?", () => <Fit kind={of.kind} pipeline={pipeline} id={id} />]]}
    />
  );
}

/** Fit says whether a set's values are such as the pipeline asks for. */
function Fit({ kind, pipeline, id }: { kind: string; pipeline: string; id: string }) {
  const { scope } = usePlace();
  const { data, error, refetch } = useQuery({
    queryKey: ["input sets", scope, pipeline],
    queryFn: ({ signal }) =>
      call<Schemas["InputSetList"]>(`/v1/pipelines/${part(pipeline)}/input-sets`, { query: { ...scope }, signal }),
  });
  if (!data) {
    return error ? <ProblemCard problem={error} again={() => void refetch()} /> : <Loading what="what fits" rows={2} />;
  }
  const set = data.inputSets.find((s) => s.id === id && s.kind === kind);
  if (!set) return <p>The pipeline has no such set any more.</p>;
  if (set.valid) return <p>It has what the pipeline {pipeline} asks for, and nothing else.</p>;
  return (
    <>
      <p>It doesn't fit the pipeline {pipeline}:</p>
      <ul>
        {set.wrong.map((w) => (
          <li key={`${w.path} ${w.message}`}>
            <Finding of={w} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Reconcile has the server make a set fit, after what it would become was shown. */
function Reconcile({ set: e, again }: { set: Entity; again: () => void }) {
  const { scope } = usePlace();
  const path = `/v1/pipelines/${part(e.env ?? "")}/input-sets/${part(e.id)}/reconcile`;
  return (
    <Confirm
      word="Reconcile"
      question={`Make ${e.name} fit ${e.env}?`}
      act={async () => {
        await call(path, { method: "POST", query: { ...scope }, json: {} });
        again();
      }}
    >
      <Rehearsal path={path} />
    </Confirm>
  );
}

function Rehearsal({ path }: { path: string }) {
  const { scope } = usePlace();
  const { data, error } = useQuery({
    queryKey: ["reconciliation", path, scope],
    queryFn: ({ signal }) =>
      call<Schemas["Reconciled"]>(path, { method: "POST", query: { ...scope }, json: { dryRun: true }, signal }),
    staleTime: 0,
    retry: false,
  });
  if (!data) return error ? <ProblemCard problem={error} /> : <Loading what="what it would become" rows={3} />;
  if (data.before === data.after) return <p>It fits as it is: nothing would change.</p>;
  return (
    <>
      <p>What the pipeline doesn't ask for is left out. It becomes:</p>
      <Yaml text={data.after} label="What it becomes" />
      {data.dropped.length > 0 && (
        <ul>
          {data.dropped.map((d) => (
            <li key={`${d.path} ${d.message}`}>
              {d.path && <code>{d.path}</code>} {d.message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
