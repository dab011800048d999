import type { ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import { Problem } from "../lib/api";

/** ProblemCard says what failed, where, and what can be done. */
export function ProblemCard({ problem, again }: { problem: Error; again?: () => void }) {
  const p = problem instanceof Problem ? problem : new Problem(0, problem.message);
  const heading: Record<number, string> = {
    0: "The server can't be reached",
    401: "Your session has ended",
    403: "You may not see this",
    404: "There is nothing here",
    429: "The server is busy",
  };
  return (
    <section className="card bad-edge" role="alert">
      <h2>{heading[p.status] ?? "That didn't work"}</h2>
      <p>{p.message}</p>
      {p.status === 403 && <p>Whoever made your token can make another one for the scope that you need.</p>}
      {(p.body?.details?.length ?? 0) > 0 && (
        <ul>
          {p.body?.details?.map((d) => (
            <li key={`${d.path} ${d.line} ${d.message}`}>
              <Finding of={d} />
            </li>
          ))}
        </ul>
      )}
      {p.body && (
        <p className="faint">
          {p.body.code}, request <code>{p.body.requestId}</code>
        </p>
      )}
      {again && p.status !== 404 && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </section>
  );
}

/** Loading is the place of what isn't there yet; it shows after a moment only. */
export function Loading({ what, rows = 6 }: { what: string; rows?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(t);
  }, []);
  return (
    <div role="status" className="skeleton" aria-busy="true">
      <span className="sr">Loading {what}</span>
      {late && Array.from({ length: rows }, (_, i) => <div key={String(i)} className="bone" />)}
    </div>
  );
}

/** Awaited is the page of what isn't there yet: it is read, or can't be. */
export function Awaited(props: {
  title: string;
  what: string;
  rows?: number;
  problem: Error | null | undefined;
  again: () => void;
}) {
  const { title, what, rows, problem, again } = props;
  return (
    <main id="main">
      {problem ? (
        <>
          <Title text={title} />
          <ProblemCard problem={problem} again={again} />
        </>
      ) : (
        <Loading what={what} rows={rows} />
      )}
    </main>
  );
}

/** Finding is what is wrong with a document, and where. */
export function Finding({ of: { path, line, message } }: { of: { path?: string; line?: number; message: string } }) {
  return (
    <>
      {path && <code>{path}</code>} {line ? `line ${line}: ` : ""}
      {message}
    </>
  );
}

/** Empty says why there is nothing to see. */
export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

/** Title is a page's heading; it gets the focus when the page comes, and names the window. */
export function Title({ children, text }: { children?: ReactNode; text: string }) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · Slipway`;
  }, [text]);
  useEffect(() => {
    if (document.activeElement === document.body || !document.activeElement) ref.current?.focus();
  }, []);
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children ?? text}
    </h1>
  );
}

/** Copy puts a text on the clipboard, and says that it has. */
export function Copy({ text, children }: { text: string; children: ReactNode }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      className="quiet"
      onClick={async () => {
        await navigator.clipboard.writeText(text);
        setDone(true);
        setTimeout(() => setDone(false), 2000);
      }}
    >
      {done ? "Copied" : children}
    </button>
  );
}
