import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { call } from "../lib/api";
import { useWhoami } from "../lib/session";
import { ProblemCard, Title } from "../ui/states";

/** Account is the page /account, where people change their own password. */
export function Account() {
  const me = useWhoami();
  const user = me.data?.principal?.replace(/^user /, "") ?? "";
  return (
    <main id="main" className="narrow">
      <Title text="Your password" />
      {user ? (
        <PasswordForm user={user} />
      ) : (
        <p>You are logged in with a token that is no user's, and has no password.</p>
      )}
    </main>
  );
}

function PasswordForm({ user }: { user: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [problem, setProblem] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const typed = new FormData(e.currentTarget);
    const text = (name: string) => String(typed.get(name) ?? "");
    setProblem(undefined);
    if (text("password") !== text("again")) {
      setProblem(new Error("The two new passwords aren't the same."));
      return;
    }
    setBusy(true);
    try {
      await call(`/v1/users/${encodeURIComponent(user)}/password`, {
        method: "PUT",
        json: { old: text("old"), password: text("password") },
      });
      queries.clear(); // the session has ended with the old password
      await navigate({ to: "/login", search: {} });
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className="stack" aria-label="Your password">
      <p className="faint">
        Another password ends your sessions and tokens, also this one: you log in again. The first one is set by who
        administrates Slipway.
      </p>
      <label>
        Old password
        <input name="old" type="password" autoComplete="current-password" required />
      </label>
      <label>
        New password
        <input name="password" type="password" autoComplete="new-password" required minLength={12} />
      </label>
      <label>
        New password, again
        <input name="again" type="password" autoComplete="new-password" required minLength={12} />
      </label>
      {problem && <ProblemCard problem={problem} />}
      <button type="submit" className="primary" disabled={busy}>
        Change it
      </button>
    </form>
  );
}
