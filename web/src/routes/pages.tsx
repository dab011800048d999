import { type AnyRoute, createRoute, lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";

/** What the addresses of these pages may say besides the path. */
const names = [
  "q",
  "tab",
  "test",
  "folder",
  "path",
  "sync",
  "health",
  "show",
  "object",
  "actor",
  "action",
  "kind",
  "id",
  "env",
  "execution",
] as const;

const kept = (s: Record<string, unknown>): { [name in (typeof names)[number]]?: string } =>
  Object.fromEntries(
    names
      .filter((n) => typeof s[n] === "string" || typeof s[n] === "number")
      .map((n) => [n, String(s[n])])
      .filter(([, v]) => v !== ""),
  );

const services = () => import("./Services");
const connectors = () => import("./Connectors");
const triggers = () => import("./Triggers");
const templates = () => import("./Templates");
const inputSets = () => import("./InputSets");
const application = () => import("./Application");
const files = () => import("./Files");
const freezes = () => import("./Freezes");
const secrets = () => import("./Secrets");
const destinations = () => import("./Destinations");
const evaluations = () => import("./Evaluations");
const access = () => import("./Access");

/** The pages that every scope has, by their paths below it. */
const pages: [string, RouteComponent][] = [
  ["services", lazyRouteComponent(services, "Services")],
  ["services/$id", lazyRouteComponent(services, "Service")],
  ["environments", lazyRouteComponent(services, "Environments")],
  ["environments/$id", lazyRouteComponent(services, "Environment")],
  ["environments/$environment/infrastructures/$id", lazyRouteComponent(services, "Infrastructure")],
  ["connectors", lazyRouteComponent(connectors, "Connectors")],
  ["connectors/$id", lazyRouteComponent(connectors, "Connector")],
  ["secrets", lazyRouteComponent(secrets, "Secrets")],
  ["secrets/$id", lazyRouteComponent(secrets, "Secret")],
  ["delegates", lazyRouteComponent(() => import("./Delegates"), "Delegates")],
  ["triggers", lazyRouteComponent(triggers, "Triggers")],
  ["triggers/$pipeline/$id", lazyRouteComponent(triggers, "Trigger")],
  ["templates", lazyRouteComponent(templates, "Templates")],
  ["templates/$id", lazyRouteComponent(templates, "Template")],
  ["input-sets", lazyRouteComponent(inputSets, "InputSets")],
  ["input-sets/$pipeline/$id", lazyRouteComponent(inputSets, "InputSet")],
  ["overlays/$pipeline/$id", lazyRouteComponent(inputSets, "Overlay")],
  ["files", lazyRouteComponent(files, "Files")],
  ["files/content", lazyRouteComponent(files, "FilePage")],
  ["freezes", lazyRouteComponent(freezes, "Freezes")],
  ["freezes/$id", lazyRouteComponent(freezes, "Freeze")],
  ["gitops", lazyRouteComponent(() => import("./GitOps"), "GitOps")],
  ["gitops/apps/$agent/$name", lazyRouteComponent(application, "Application")],
  ["gitops/sets/$agent/$name", lazyRouteComponent(application, "ApplicationSet")],
  ["edit/$kind", lazyRouteComponent(() => import("./EditPage"), "EditPage")],
  ["audit", lazyRouteComponent(() => import("./Audit"), "Audit")],
  ["audit/destinations", lazyRouteComponent(destinations, "Destinations")],
  ["audit/destinations/$id", lazyRouteComponent(destinations, "Destination")],
  ["access", lazyRouteComponent(access, "Access")],
  ["access/$section", lazyRouteComponent(access, "AccessList")],
  ["access/$section/$id", lazyRouteComponent(access, "AccessDocument")],
  ["policies", lazyRouteComponent(access, "Policies")],
  ["policy-sets", lazyRouteComponent(access, "PolicySets")],
  ["policy-sets/$id", lazyRouteComponent(access, "PolicySet")],
  ["policies/$id", lazyRouteComponent(access, "Policy")],
  ["evaluations", lazyRouteComponent(evaluations, "Evaluations")],
  ["evaluations/$id", lazyRouteComponent(evaluations, "EvaluationPage")],
  ["settings", lazyRouteComponent(() => import("./Settings"), "SettingsPage")],
  ["tokens", lazyRouteComponent(() => import("./Tokens"), "TokensPage")],
];

/** pagesOf makes the routes of these pages: for an account, an organization and a project. */
export function pagesOf(root: AnyRoute): AnyRoute[] {
  return ["", "/o/$org", "/o/$org/p/$project"].flatMap((scope) =>
    pages.map(([path, component]) =>
      createRoute({ getParentRoute: () => root, path: `${scope}/${path}`, validateSearch: kept, component }),
    ),
  );
}

/** What the navigation has of them: path, name and the key that comes after g. */
export const navigation: [string, string, string?][] = [
  ["services", "Services", "s"],
  ["environments", "Environments", "e"],
  ["gitops", "GitOps", "o"],
  ["triggers", "Triggers", "r"],
  ["input-sets", "Input sets"],
  ["templates", "Templates"],
  ["connectors", "Connectors", "c"],
  ["secrets", "Secrets"],
  ["delegates", "Delegates", "l"],
  ["files", "Files"],
  ["freezes", "Freezes", "f"],
  ["policies", "Policies"],
  ["access", "Access"],
  ["audit", "Audit trail", "a"],
  ["tokens", "Tokens"],
  ["settings", "Settings"],
];
