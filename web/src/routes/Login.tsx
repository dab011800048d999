import { useQueryClient } from "@tanstack/react-query";
import { Navigate, useRouter, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call, Problem, type Whoami } from "../lib/api";
import { useWhoami } from "../lib/session";
import { ProblemCard, Title } from "../ui/states";

/** Login is the page /login; who is logged in goes on to where they wanted to. */
export function Login() {
  const { next } = useSearch({ from: "/login" });
  const me = useWhoami();
  if (me.data && !me.error) return <Navigate to={inside(next)} replace />;
  return (
    <main id="main" className="narrow">
      <Title text="Log in to Slipway" />
      <LoginForm />
    </main>
  );
}

/** inside is a path of the console, whatever the address says. */
export function inside(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith("/login") ? next : "/";
}

/** LoginForm opens a session with a token, which it doesn't keep. */
export function LoginForm() {
  const queries = useQueryClient();
  const router = useRouter();
  const [problem, setProblem] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const token = String(new FormData(e.currentTarget).get("token") ?? "").trim();
    setBusy(true);
    setProblem(undefined);
    try {
      await call<Whoami>("/v1/login/token", { method: "POST", json: { token } });
      const me = await call<Whoami>("/v1/whoami").catch((e: unknown) => {
        if (!(e instanceof Problem) || e.status !== 401) throw e;
        throw new Problem(
          401,
          "The token is right, but this browser didn't keep the session: it has to take cookies of this address, which is by https or on this machine.",
        );
      });
      queries.setQueryData(["whoami"], me);
      await queries.invalidateQueries();
      await router.invalidate();
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className="stack">
      <label>
        Token
        <input name="token" type="password" autoComplete="current-password" required spellCheck={false} />
      </label>
      <p className="faint">
        The first start of <code>slipway serve</code> writes one to the config file of the command line;{" "}
        <code>slipway token create NAME</code> makes others. The browser doesn't keep it: it gets a session of 24 hours.
      </p>
      {problem && <ProblemCard problem={problem} />}
      <button type="submit" className="primary" disabled={busy}>
        {busy ? "Logging in…" : "Log in"}
      </button>
    </form>
  );
}
