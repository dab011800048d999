import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { type FormEvent, lazy, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { call, Problem, type Scope } from "../lib/api";
import { drop } from "../lib/draft";
import { listOf, nameOf, pathOf, recent, remember, useRecent } from "../lib/scope";
import { useWhoami } from "../lib/session";
import { Modal } from "../ui/Modal";
import { Loading, ProblemCard } from "../ui/states";
import { Told } from "../ui/Told";
import { LoginForm } from "./Login";
import { navigation } from "./pages";

const Palette = lazy(() => import("../ui/Palette").then((m) => ({ default: m.Palette })));

const keys: [string, string][] = [
  ["?", "this list"],
  ["Ctrl K", "go to a page, a document or an execution by its name"],
  ["g h", "home"],
  ["g d", "deployments"],
  ["g p", "pipelines"],
  ...navigation.flatMap(([, name, key]) => (key ? [[`g ${key}`, name.toLowerCase()] as [string, string]] : [])),
  ["/", "filter or search; where there is neither, as Ctrl K"],
  ["j, k", "next, previous row"],
  ["Enter", "open the row"],
  ["r", "run the pipeline of the page"],
  ["n, p", "next, previous failure of an execution"],
  ["→, ←", "open, close a group of the tree"],
  ["t", "theme"],
];

/** Frame is what is around every page: who is logged in, where one is, and the way to other pages. */
export function Frame() {
  const me = useWhoami();
  const path = useRouterState({ select: (s) => s.location.pathname });
  if (path === "/login") return <Outlet />;
  if (me.isPending) return <Loading what="the console" rows={0} />;
  if (me.data) return <Framed expired={isExpired(me.error)} />;
  if (isExpired(me.error)) return <Login />;
  return (
    <main id="main" className="narrow">
      <h1>Slipway</h1>
      <ProblemCard problem={me.error} again={() => void me.refetch()} />
    </main>
  );
}

const isExpired = (e: unknown) => e instanceof Problem && e.status === 401;

/** Login is the page for who isn't logged in, at whatever address: it goes on there. */
function Login() {
  return (
    <main id="main" className="narrow">
      <h1>Log in to Slipway</h1>
      <LoginForm />
    </main>
  );
}

function Framed({ expired }: { expired: boolean }) {
  const me = useWhoami();
  const online = useOnline();
  const [help, setHelp] = useState(false);
  const [seeking, setSeeking] = useState(false);
  const scope = useScope();
  useKeys(
    scope,
    () => setHelp(true),
    () => setSeeking(true),
  );
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="top">
        <Link to="/" className="brand">
          Slipway
        </Link>
        <ScopeSwitcher scope={scope} />
        <span className="grow" />
        <button type="button" className="quiet" aria-haspopup="dialog" onClick={() => setSeeking(true)}>
          Go to…
        </button>
        <ThemeSwitch />
        <button type="button" className="quiet" onClick={() => setHelp(true)}>
          Keys
        </button>
        <span className="who" title={`With the token ${me.data?.token}`}>
          {me.data?.principal?.startsWith("user ") ? <Link to="/account">{me.data.actor}</Link> : me.data?.actor}
        </span>
        <Logout />
      </header>
      <div>
        {me.data?.banner && <Told banner={me.data.banner} />}
        {!online && (
          <div className="banner" role="status">
            This browser is offline. What is shown may be old.
          </div>
        )}
        {online && me.error instanceof Problem && me.error.status === 0 && (
          <div className="banner" role="status">
            The server can't be reached. What is shown may be old.
          </div>
        )}
      </div>
      <nav className="side" aria-label="Pages">
        <Pages scope={scope} />
      </nav>
      <Outlet />
      {help && (
        <Modal title="Keys" close={() => setHelp(false)}>
          <dl className="keys">
            {keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </Modal>
      )}
      {seeking && (
        <Suspense>
          <Palette
            scope={scope}
            pages={pages
              .filter(([page, , ofProject]) => page !== "" && (!ofProject || scope.project))
              .map(([page, name]) => [page, name])}
            close={() => setSeeking(false)}
          />
        </Suspense>
      )}
      {expired && (
        <Modal title="Your session has ended" close={() => undefined}>
          <LoginForm />
        </Modal>
      )}
    </>
  );
}

/** The pages in the navigation; some are of projects alone. */
const pages: [page: string, name: string, ofProject?: boolean][] = [
  ["", "Home", true],
  ["executions", "Deployments"],
  ["pipelines", "Pipelines", true],
  ...navigation.map(([page, name]): [string, string] => [page, name]),
];

/** The pages of a scope. */
export function Pages({ scope }: { scope: Scope }) {
  const at = pathOf(scope);
  const path = useRouterState({ select: (s) => s.location.pathname });
  return (
    <ul>
      {pages.map(([page, name, ofProject]) => {
        if (ofProject && !scope.project) return null;
        const to = page ? `${at}/${page}` : at;
        const here =
          path === to ||
          (page !== "" && path.startsWith(`${to}/`)) ||
          (page === "executions" && path.startsWith("/x/"));
        return (
          <li key={page}>
            <Link to={to} search={{}} activeOptions={{ exact: true }} aria-current={here ? "page" : undefined}>
              {name}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

/** useScope is the scope of the page, or of the last one that had one. */
export function useScope(): Scope {
  const params = useParams({ strict: false }) as { org?: string; project?: string; execution?: string };
  const me = useWhoami();
  const last = useRecent();
  const own = params.execution === undefined;
  const { org, project } = params;
  useEffect(() => {
    if (own && org && project) remember({ org, project });
  }, [own, org, project]);
  if (own) return { org, project };
  return last ?? { org: me.data?.org, project: me.data?.project };
}

function ScopeSwitcher({ scope }: { scope: Scope }) {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  const go = (s: Scope) => {
    setOpen(false);
    void navigate({ to: listOf(s), search: {} });
  };
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const org = String(form.get("org") ?? "").trim();
    const project = String(form.get("project") ?? "").trim();
    go({ org: org || undefined, project: org ? project || undefined : undefined });
  };
  return (
    <>
      <button type="button" className="quiet scope" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span className="sr">Scope: </span>
        {nameOf(scope)}
      </button>
      {open && (
        <Modal title="Go to a scope" close={() => setOpen(false)}>
          <form onSubmit={submit} className="stack">
            <label>
              Organization
              <input name="org" defaultValue={scope.org} autoComplete="off" spellCheck={false} />
            </label>
            <label>
              Project
              <input name="project" defaultValue={scope.project} autoComplete="off" spellCheck={false} />
            </label>
            <p className="faint">Without a project it is the organization's own, without both the account's.</p>
            <div className="row">
              <button type="submit" className="primary">
                Go
              </button>
              <button type="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
            </div>
          </form>
          {recent().length > 0 && (
            <>
              <h3>Seen last</h3>
              <ul className="plain">
                {recent().map((s) => (
                  <li key={nameOf(s)}>
                    <button type="button" className="link" onClick={() => go(s)}>
                      {nameOf(s)}
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Modal>
      )}
    </>
  );
}

function Logout() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [problem, setProblem] = useState<Error>();
  return (
    <>
      <button
        type="button"
        className="quiet"
        onClick={async () => {
          try {
            await call("/v1/logout", { method: "POST" });
          } catch (e) {
            if (!isExpired(e)) {
              setProblem(e as Error);
              return;
            }
          }
          queries.clear();
          drop();
          await navigate({ to: "/login", search: {} });
        }}
      >
        Log out
      </button>
      {problem && (
        <Modal title="You are still logged in" close={() => setProblem(undefined)}>
          <ProblemCard problem={problem} />
        </Modal>
      )}
    </>
  );
}

const themes = ["system", "light", "dark"] as const;

function chosen(): string {
  return document.documentElement.dataset.theme ?? "system";
}

function nextTheme(): string {
  const next = themes[((themes as readonly string[]).indexOf(chosen()) + 1) % themes.length] ?? "system";
  if (next === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("theme");
  } else {
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  }
  window.dispatchEvent(new Event("theme"));
  return next;
}

function ThemeSwitch() {
  const theme = useSyncExternalStore((f) => {
    window.addEventListener("theme", f);
    return () => window.removeEventListener("theme", f);
  }, chosen);
  return (
    <button type="button" className="quiet" onClick={nextTheme}>
      Theme: {theme}
    </button>
  );
}

function useOnline(): boolean {
  return useSyncExternalStore(
    (f) => {
      window.addEventListener("online", f);
      window.addEventListener("offline", f);
      return () => {
        window.removeEventListener("online", f);
        window.removeEventListener("offline", f);
      };
    },
    () => navigator.onLine,
  );
}

/** useKeys has the keys that work on every page. None does while somebody types. */
function useKeys(scope: Scope, help: () => void, seek: () => void) {
  const navigate = useNavigate();
  const at = pathOf(scope);
  // biome-ignore lint/correctness/useExhaustiveDependencies: help and seek do the same for good
  useEffect(() => {
    let after = "";
    const press = (e: KeyboardEvent) => {
      const target = e.target as HTMLElement;
      if (e.key === "k" && (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey) {
        e.preventDefault(); // it is the browser's search
        if (!document.querySelector("dialog[open]")) seek();
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || target.closest("input, textarea, select, dialog, [contenteditable]"))
        return;
      const sequence = after === "g" ? `g ${e.key}` : e.key;
      after = e.key === "g" ? "g" : "";
      switch (sequence) {
        case "?":
          help();
          break;
        case "t":
          nextTheme();
          break;
        case "g d":
          void navigate({ to: `${at}/executions` as "/executions", search: {} });
          break;
        case "g h":
          void navigate({ to: "/" });
          break;
        case "g p":
          if (scope.project) void navigate({ to: `${at}/pipelines` as "/" });
          break;
        case "/": {
          const field = document.querySelector<HTMLElement>("[data-search]");
          e.preventDefault();
          if (field) field.focus();
          else seek();
          break;
        }
        default: {
          const page = navigation.find(([, , key]) => key && sequence === `g ${key}`)?.[0];
          if (page) void navigate({ to: `${at}/${page}` as "/executions", search: {} });
          break;
        }
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [at, scope.project, navigate]);
}
