import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { ProblemCard } from "../ui/states";
import { Frame } from "./Frame";
import { Login } from "./Login";
import { NotFound } from "./NotFound";
import { pagesOf } from "./pages";
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
  validateSearch: (s: Search): { next?: string; failed?: string } => ({ next: text(s.next), failed: text(s.failed) }),
  component: Login,
});

const account = createRoute({
  getParentRoute: () => root,
  path: "/account",
  component: lazyRouteComponent(() => import("./Account"), "Account"),
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

const pipelines = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project/pipelines",
  component: lazyRouteComponent(() => import("./Pipelines"), "Pipelines"),
});

const pipelineTabs = ["runs", "yaml", "inputs", "triggers"] as const;
export type PipelineTab = (typeof pipelineTabs)[number];

const pipeline = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project/pipelines/$pipeline",
  validateSearch: (s: Search): { tab?: PipelineTab; line?: number } => ({
    tab: pipelineTabs.find((t) => t === s.tab),
    line: number(s.line),
  }),
  component: lazyRouteComponent(() => import("./Pipeline"), "PipelinePage"),
});

const runViews = ["form", "yaml"] as const;
export type RunView = (typeof runViews)[number];

const run = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project/pipelines/$pipeline/run",
  validateSearch: (s: Search): { inputSets?: string; fromExecution?: string; view?: RunView } => ({
    inputSets: text(s.inputSets),
    fromExecution: text(s.fromExecution),
    view: runViews.find((v) => v === s.view),
  }),
  component: lazyRouteComponent(() => import("./Run"), "RunPage"),
});

const tabs = ["log", "input", "output", "deploys", "details"] as const;
export type Tab = (typeof tabs)[number];

const execution = createRoute({
  getParentRoute: () => root,
  path: "/x/$execution",
  validateSearch: (s: Search): { node?: string; tab?: Tab; attempt?: number; line?: number; inputs?: 1 } => ({
    node: text(s.node),
    tab: tabs.find((t) => t === s.tab),
    attempt: number(s.attempt),
    line: number(s.line),
    inputs: number(s.inputs) ? 1 : undefined,
  }),
  component: lazyRouteComponent(() => import("./Execution"), "ExecutionPage"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/x/$execution/compare/$other",
  component: lazyRouteComponent(() => import("./Compare"), "Compare"),
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/o/$org/p/$project",
  component: lazyRouteComponent(() => import("./Home"), "Home"),
});

export const router = createRouter({
  // The types of these many addresses are left out: links to them are made by ui/Go.
  routeTree: root.addChildren([
    start,
    login,
    account,
    inAccount,
    inOrg,
    inProject,
    home,
    pipelines,
    pipeline,
    run,
    execution,
    compare,
    ...(pagesOf(root) as never[]),
  ]),
  defaultErrorComponent: ({ error, reset }) => <ProblemCard problem={error as Error} again={reset} />,
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
