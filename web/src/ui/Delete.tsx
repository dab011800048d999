import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { call, part, type Schemas, type Scope } from "../lib/api";
import { type Kind, kindOf, listOf, pageOf } from "../lib/kinds";
import { useMay } from "../lib/may";
import { nameOf } from "../lib/scope";
import { Confirm } from "./Confirm";
import { addressOf, Go } from "./Go";
import { Loading, ProblemCard } from "./states";

interface Props {
  scope: Scope;
  of: Kind;
  id: string;
  env?: string;
  version: number;
}

/** Delete is a button that says what names a document before it deletes it, or why one may not. */
export function Delete({ scope, of, id, env, version }: Props) {
  const { why } = useMay(scope, "entity.delete", of.kind, id);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const path = `/v1/entities/${of.kind}/${part(id)}`;
  return (
    <Confirm
      word="Delete"
      question={`Delete the ${of.one} ${id}?`}
      danger
      not={why}
      act={async () => {
        await call(path, { method: "DELETE", query: { ...scope, env, version } });
        await navigate({ to: addressOf(scope, listOf(of)), search: {}, replace: true });
        for (const lists of ["list", "entities"]) void queries.invalidateQueries({ queryKey: [lists] });
      }}
    >
      <Named path={path} scope={scope} env={env} />
      <p>Its text stays in the audit trail. It can't be brought back otherwise.</p>
    </Confirm>
  );
}

/** Named says what keeps a document from being deleted. */
function Named({ path, scope, env }: { path: string; scope: Scope; env?: string }) {
  const { data, error } = useQuery({
    queryKey: ["references", path, scope, env],
    queryFn: ({ signal }) =>
      call<Schemas["References"]>(`${path}/references`, { query: { ...scope, env, limit: 20 }, signal }),
    gcTime: 0,
  });
  if (error) return <ProblemCard problem={error} />;
  if (!data) return <Loading what="what names it" rows={1} />;
  const { references, left = [], nextPageToken } = data;
  if (references.length === 0 && left.length === 0) return <p>Nothing that you may see names it.</p>;
  return (
    <>
      <p>It can't be deleted as long as there is:</p>
      <ul>
        {references.map((r) => (
          <li key={`${r.kind} ${r.org} ${r.project} ${r.env} ${r.id}`}>
            <Reference to={r} />
          </li>
        ))}
        {nextPageToken && <li>and more</li>}
        {left.map((l) => (
          <li key={l.message}>{l.message}</li>
        ))}
      </ul>
    </>
  );
}

function Reference({ to }: { to: Schemas["EntityKey"] }) {
  const of = kindOf(to.kind);
  const scope = { org: to.org, project: to.project };
  if (!of) {
    return (
      <>
        {to.kind} {to.id} of {nameOf(scope)}
      </>
    );
  }
  return (
    <>
      the {of.one}{" "}
      <Go scope={scope} page={pageOf(of, to.id, to.env)}>
        {to.id}
      </Go>{" "}
      of {nameOf(scope)}
    </>
  );
}
