/** What the console calls a kind of document, and the page that lists it. */
export interface Kind {
  kind: string;
  page: string;
  one: string;
  many: string;
}

const kind = (kind: string, page: string, one: string, many: string): Kind => ({ kind, page, one, many });

export const pipelines = kind("pipeline", "pipelines", "pipeline", "pipelines");
export const services = kind("service", "services", "service", "services");
export const environments = kind("environment", "environments", "environment", "environments");
export const infrastructures = kind("infrastructureDefinition", "environments", "infrastructure", "infrastructures");
export const connectors = kind("connector", "connectors", "connector", "connectors");
export const secrets = kind("secret", "secrets", "secret", "secrets");
export const triggers = kind("trigger", "triggers", "trigger", "triggers");
export const templates = kind("template", "templates", "template", "templates");
export const inputSets = kind("inputSet", "input-sets", "input set", "input sets");
export const overlays = kind("overlayInputSet", "input-sets", "overlay", "overlays");
export const freezes = kind("freeze", "freezes", "freeze", "freezes");
export const users = kind("user", "access/users", "user", "users");
export const groups = kind("userGroup", "access/groups", "user group", "user groups");
export const roles = kind("role", "access/roles", "role", "roles");
export const resourceGroups = kind("resourceGroup", "access/resource-groups", "resource group", "resource groups");
export const assignments = kind("roleAssignment", "access/assignments", "role assignment", "role assignments");
export const serviceAccounts = kind("serviceAccount", "access/service-accounts", "service account", "service accounts");
export const logins = kind("loginProvider", "access/login", "login provider", "login providers");
export const organizations = kind("organization", "access/organizations", "organization", "organizations");
export const projects = kind("project", "access/projects", "project", "projects");
export const settings = kind("setting", "settings", "document of settings", "settings");
export const policies = kind("policy", "policies", "policy", "policies");
export const destinations = kind(
  "streamingDestination",
  "audit/destinations",
  "streaming destination",
  "streaming destinations",
);
export const policySets = kind("policySet", "policy-sets", "policy set", "policy sets");

const known = [
  pipelines,
  services,
  environments,
  infrastructures,
  connectors,
  triggers,
  templates,
  inputSets,
  overlays,
  freezes,
  users,
  groups,
  roles,
  resourceGroups,
  assignments,
  serviceAccounts,
  logins,
  organizations,
  projects,
  settings,
  policies,
  policySets,
  destinations,
];

/** kindOf is the kind that documents have at their root; undefined: the console has no page for it. */
export const kindOf = (name: string): Kind | undefined => known.find((k) => k.kind === name);

/** listOf is where the documents of a kind are listed, below their scope. */
export const listOf = (of: Kind): string[] => of.page.split("/");

/** pageOf is where a document's page is, below its scope. */
export function pageOf(of: Kind, id: string, env?: string): string[] {
  switch (of) {
    case infrastructures:
      return ["environments", env ?? "", "infrastructures", id];
    case overlays:
      return ["overlays", env ?? "", id];
    case settings:
      return listOf(of); // a scope has one document of them
    case triggers:
    case inputSets:
      return [of.page, env ?? "", id];
    default:
      return [...listOf(of), id];
  }
}
