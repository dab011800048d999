import { Navigate } from "@tanstack/react-router";
import { recent } from "../lib/scope";
import { useWhoami } from "../lib/session";

/** Start goes to the scope that was shown last, or to that of the token. */
export function Start() {
  const me = useWhoami();
  if (!me.data) return null;
  const { org, project } = me.data;
  const last = recent().find(
    (s) => s.org && s.project && (!org || s.org === org) && (!project || s.project === project),
  );
  const to = last ?? { org: org ?? "default", project: project ?? "default_project" };
  return <Navigate to="/o/$org/p/$project" params={{ org: to.org ?? "", project: to.project ?? "" }} replace />;
}
