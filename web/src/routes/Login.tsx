import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Navigate, useRouter, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { call, type Logins, Problem, type Whoami } from "../lib/api";
import { useWhoami, whoami } from "../lib/session";
import { ProblemCard, Title } from "../ui/states";
import { Told } from "../ui/Told";

/** Login is the page /login; who is logged in goes on to where they wanted to. */
export function Login() {
  const { next, failed } = useSearch({ from: "/login" });
  const me = useWhoami();
  if (me.data && !me.error) return <Navigate to={inside(next)} replace />;
  return (
    <main id="main" className="narrow">
      <Title text="Log in to Slipway" />
      {me.error && <LinkLogin />}
      <LoginForm next={inside(next)} failed={failed} />
    </main>
  );
}

/** Providers are the identity providers to log in by, and why it didn't work. */
function Providers({ next, failed }: { next: string; failed?: string }) {
  const ways = useQuery({
    queryKey: ["logins", failed],
    queryFn: ({ signal }) => call<Logins>("/v1/login", { query: { failed }, signal }),
  });
  if (!ways.data) return null;
  const { providers, passwords, problem, banner } = ways.data;
  return (
    <>
      {banner && <Told banner={banner} />}
      {problem && (
        <p role="alert" className="card bad-edge">
          {problem}
        </p>
      )}
      {providers.map((p) =>
        p.type === "LDAP" ? (
          <PasswordLogin key={p.id} path={`/v1/login/ldap/${encodeURIComponent(p.id)}`} name={p.name} />
        ) : (
          <p key={p.id}>
            <a
              className="button primary"
              href={`/v1/login/${p.type.toLowerCase()}/${encodeURIComponent(p.id)}/start?next=${encodeURIComponent(next)}`}
            >
              Log in with {p.name}
            </a>
          </p>
        ),
      )}
      {passwords && <PasswordLogin path="/v1/login/local" name="a password" />}
    </>
  );
}

/** secondFactor is the code of the detail by which the server asks for one. */
const secondFactor = "SECOND_FACTOR";

/** PasswordLogin opens a session with a password that an LDAP directory or the server itself takes; it keeps none. */
function PasswordLogin({ path, name }: { path: string; name: string }) {
  const entered = useEntered();
  const [problem, setProblem] = useState<Error>();
  const [asksCode, setAsksCode] = useState(false);
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = e.currentTarget;
    const typed = new FormData(form);
    setBusy(true);
    setProblem(undefined);
    try {
      const text = (name: string) => String(typed.get(name) ?? "");
      const code = asksCode ? { code: text("code").trim() } : {};
      await call<Whoami>(path, {
        method: "POST",
        json: { user: text("user").trim(), password: text("password"), ...code },
      });
      await entered("password");
    } catch (e) {
      if (e instanceof Problem && e.body?.details.some((d) => d.code === secondFactor)) setAsksCode(true);
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className="stack" aria-label={`Log in with ${name}`}>
      <label>
        Mail address
        <input
          name="user"
          type={path.includes("/ldap/") ? "email" : "text"}
          autoComplete="username"
          required
          spellCheck={false}
        />
      </label>
      <label>
        Password
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      {asksCode && (
        <label>
          Code
          <input name="code" autoComplete="one-time-code" required spellCheck={false} />
        </label>
      )}
      {problem && <ProblemCard problem={problem} />}
      <button type="submit" className="primary" disabled={busy}>
        {busy ? "Logging in…" : `Log in with ${name}`}
      </button>
    </form>
  );
}

/** inside is a path of the console, whatever the address says. */
export function inside(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith("/login") ? next : "/";
}

/** useEntered has the pages know of a session that was opened. */
function useEntered() {
  const queries = useQueryClient();
  const router = useRouter();
  return async (what: string) => {
    const me = await call<Whoami>("/v1/whoami").catch((e: unknown) => {
      if (!(e instanceof Problem) || e.status !== 401) throw e;
      throw new Problem(
        401,
        `The ${what} is right, but this browser didn't keep the session: it has to take cookies of this address, which is by https or on this machine.`,
      );
    });
    queries.setQueryData([whoami], me);
    await queries.invalidateQueries();
    await router.invalidate();
  };
}

/** LinkLogin opens a session with the code of a login link, which stands after the # and can be used once. */
function LinkLogin() {
  const [code] = useState(() => location.hash.slice(1));
  const [problem, setProblem] = useState<Error>();
  const entered = useEntered();
  const tried = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a code is tried once
  useEffect(() => {
    if (!code || tried.current) return;
    tried.current = true;
    history.replaceState(history.state, "", location.pathname + location.search); // nobody is to copy it
    call<Whoami>("/v1/login/link", { method: "POST", json: { code } })
      .then(() => entered("link"))
      .catch(setProblem);
  }, [code]);
  if (problem) return <ProblemCard problem={problem} />;
  return code ? <p role="status">Logging in…</p> : null;
}

/**
 * LoginForm opens a session: by an identity provider, which leads to next, or with a token, which it doesn't keep. Without
 * next, that is this page.
 */
export function LoginForm({ next, failed }: { next?: string; failed?: string }) {
  const entered = useEntered();
  const [problem, setProblem] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const token = String(new FormData(e.currentTarget).get("token") ?? "").trim();
    setBusy(true);
    setProblem(undefined);
    try {
      await call<Whoami>("/v1/login/token", { method: "POST", json: { token } });
      await entered("token");
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Providers next={next ?? location.pathname + location.search} failed={failed} />
      <form onSubmit={submit} className="stack">
        <label>
          Token
          <input name="token" type="password" autoComplete="current-password" required spellCheck={false} />
        </label>
        <p className="faint">
          The first start of <code>slipway serve</code> writes one to the config file of the command line;{" "}
          <code>slipway token create NAME</code> makes others. The browser doesn't keep it: it gets a session that ends
          by itself.
        </p>
        {problem && <ProblemCard problem={problem} />}
        <button type="submit" className="primary" disabled={busy}>
          {busy ? "Logging in…" : "Log in"}
        </button>
      </form>
    </>
  );
}
