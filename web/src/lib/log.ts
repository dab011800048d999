import { useEffect, useRef, useState } from "react";
import { call, type Log, type LogLine, Problem, part } from "./api";

/** How many lines a browser keeps of a log; the first ones go. */
export const mostLines = 50_000;

export interface LogState {
  lines: LogLine[];
  /** how many lines before these aren't kept */
  dropped: number;
  attempt: number;
  attempts: number;
  ended: boolean;
  loaded: boolean;
  problem?: Problem;
}

const nothing: LogState = { lines: [], dropped: 0, attempt: 0, attempts: 0, ended: false, loaded: false };

/** joined is a log with the lines of its next part. */
export function joined(s: LogState, next: Log): LogState {
  const all = s.lines.concat(next.lines);
  const over = Math.max(0, all.length - mostLines);
  return {
    lines: over ? all.slice(over) : all,
    dropped: s.dropped + over,
    attempt: next.attempt,
    attempts: next.attempts,
    ended: next.ended,
    loaded: s.loaded || next.ended || next.lines.length === 0,
  };
}

/** useLog reads the log of an attempt of a step from its beginning, and follows it until its end. */
export function useLog(execution: string, node: string, attempt: number | undefined): LogState {
  const [state, setState] = useState(nothing);
  const latest = useRef(nothing);

  useEffect(() => {
    const abort = new AbortController();
    latest.current = nothing;
    setState(nothing);
    const follow = async () => {
      let from = 0;
      let pause = 1000;
      while (!abort.signal.aborted) {
        try {
          const wait = latest.current.loaded ? 20 : 0; // once there is nothing more to be had at once
          const next = await call<Log>(`/v1/executions/${part(execution)}/nodes/${part(node)}/log`, {
            query: { from, attempt, wait },
            signal: abort.signal,
          });
          from = next.next;
          pause = 1000;
          latest.current = joined(latest.current, next);
          setState(latest.current);
          if (next.ended && next.lines.length === 0) return;
        } catch (e) {
          if (abort.signal.aborted) return;
          const p = e instanceof Problem ? e : new Problem(0, String(e));
          latest.current = { ...latest.current, loaded: true, problem: p };
          setState(latest.current);
          if (p.status === 401 || p.status === 403 || p.status === 404) return;
          await new Promise((r) => setTimeout(r, pause));
          pause = Math.min(pause * 2, 15_000);
        }
      }
    };
    void follow();
    return () => abort.abort();
  }, [execution, node, attempt]);

  return state;
}
