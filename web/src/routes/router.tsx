import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate } from "@tanstack/react-router";
import { ProblemCard } from "../ui/states";
import { Frame } from "./Frame";
import { Login } from "./Login";
import { NotFound } from "./NotFound";
import { Start } from "./Start";

type Search = Record<string, unknown>;

const text = (v: unknown): string | undefined =>
  typeof v === "string" && v !== "" ? v : typeof v === "number" ? String(v) : undefined;
const number = (v: unknown): number | undefined => {
  const n = Number(v);
  return v !== undefined && v !== "" && Number.isInteger(n) && n > 0 ? n : undefined;
};

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });

const start = createRoute({ getParentRoute: () => root, path: "/", component: Start });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (s: Search): { next?: string } => ({ next: text(s.next) }),
  component: Login,
});

const executionFilters = (s: Search): { pipeline?: string; status?: string; since?: string } => ({
  pipeline: text(s.pipeline),
  status: text(s.status),
  since: text(s.since),
});

const executions = lazyRouteComponent(() => import("./Executions"), "Executions");
const inAccount = createRoute({
  getParentRoute: () => root,
  path: "/executions",
  validateSearch: executionFilters,
  component: executions,
});
const inOrg = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/executions",
  validateSearch: executionFilters,
  component: executions,
});
const inProject = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project/executions",
  validateSearch: executionFilters,
  component: executions,
});

const tabs = ["log", "details"] as const;
export type Tab = (typeof tabs)[number];

const execution = createRoute({
  getParentRoute: () => root,
  path: "/x/$execution",
  validateSearch: (s: Search): { node?: string; tab?: Tab; attempt?: number; line?: number } => ({
    node: text(s.node),
    tab: tabs.find((t) => t === s.tab),
    attempt: number(s.attempt),
    line: number(s.line),
  }),
  component: lazyRouteComponent(() => import("./Execution"), "ExecutionPage"),
});

const projectStart = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project",
  component: function ProjectStart() {
    const { org, project } = projectStart.useParams();
    return <Navigate to="/o/$org/p/$project/executions" params={{ org, project }} search={{}} replace />;
  },
});

export const router = createRouter({
  routeTree: root.addChildren([start, login, inAccount, inOrg, inProject, projectStart, execution]),
  defaultErrorComponent: ({ error, reset }) => <ProblemCard problem={error as Error} again={reset} />,
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
