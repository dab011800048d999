import { useCallback, useSyncExternalStore } from "react";
import { call, type Log, type LogLine, Problem, part } from "./api";

/** How many lines a browser keeps of a log; the first ones go. A log that is cut at its limit has fewer, unless its
 * lines are short. */
export const mostLines = 250_000;

/** How many lines of its end are shown before all of it is read. */
const tail = 500;

export interface LogState {
  lines: LogLine[];
  /** how many lines before these aren't kept; below 0: it isn't known yet, and lines are counted from their end */
  dropped: number;
  /** how many lines there are before those that were shown first */
  before: number;
  attempt: number;
  attempts: number;
  ended: boolean;
  loaded: boolean;
  /** the lines before these are being read */
  reading: boolean;
  problem?: Problem;
}

const nothing: LogState = {
  lines: [],
  dropped: 0,
  before: 0,
  attempt: 0,
  attempts: 0,
  ended: false,
  loaded: false,
  reading: false,
};

/** joined is a log with the lines of its next part. */
export function joined(s: LogState, next: Log): LogState {
  const all = s.lines.concat(next.lines);
  const over = Math.max(0, all.length - mostLines);
  return {
    lines: over ? all.slice(over) : all,
    dropped: s.dropped + over,
    before: s.before,
    attempt: next.attempt,
    attempts: next.attempts,
    ended: next.ended,
    loaded: s.loaded || next.ended || next.lines.length === 0,
    reading: false,
  };
}

/** How long to wait between two questions of a server that answers at once, in milliseconds. */
const pollPause = 2000;

/** Reader reads one log for all who look at it, until its end or until nobody does: its last lines first, then all. */
class Reader {
  state = nothing;
  readonly watchers = new Set<() => void>();
  private readonly abort = new AbortController();
  private readonly path: string;
  private readonly attempt: number | undefined;

  constructor(execution: string, node: string, attempt: number | undefined) {
    this.path = `/v1/executions/${part(execution)}/nodes/${part(node)}/log`;
    this.attempt = attempt;
    void this.follow();
  }

  stop() {
    this.abort.abort();
  }

  private set(state: LogState) {
    this.state = state;
    for (const w of this.watchers) w();
  }

  private ask(query: { from: number; wait?: number; to?: number } | { tail: number }): Promise<Log> {
    return call<Log>(this.path, { query: { attempt: this.attempt, ...query }, signal: this.abort.signal });
  }

  private async follow() {
    const { signal } = this.abort;
    let from: number | undefined; // undefined: nothing is read yet
    let pause = 1000;
    while (!signal.aborted) {
      try {
        if (from === undefined) {
          from = await this.whole();
          if (this.state.ended) return;
        }
        const asked = Date.now();
        const next: Log = await this.ask({ from, wait: 20 });
        from = next.next;
        pause = 1000;
        this.set(joined(this.state, next));
        if (next.ended && next.lines.length === 0) return;
        // A server that doesn't wait, as on AWS, is asked after a pause.
        if (next.lines.length === 0 && Date.now() - asked < pollPause) {
          await new Promise((r) => setTimeout(r, pollPause));
        }
      } catch (e) {
        if (signal.aborted) return;
        const p = e instanceof Problem ? e : new Problem(0, String(e));
        this.set({ ...this.state, loaded: true, reading: false, problem: p });
        if (p.status === 401 || p.status === 403 || p.status === 404) return;
        await new Promise((r) => setTimeout(r, pause));
        pause = Math.min(pause * 2, 15_000);
      }
    }
  }

  /** whole reads what there is of the log, and gives where the rest begins. Its last lines are shown while those
   * before them are read. */
  private async whole(): Promise<number> {
    const end = await this.ask({ tail });
    if (end.first === 1) {
      this.set({ ...joined(nothing, end), loaded: true });
      return end.next;
    }
    const shown = end.lines.length;
    this.set({ ...joined(nothing, end), dropped: -shown, loaded: true, reading: true });
    let all = nothing;
    let from = 0;
    while (from < end.next) {
      const next = await this.ask({ from, to: end.next });
      if (next.next === from) break; // nothing that it could go on with
      from = next.next;
      all = joined(all, next);
    }
    this.set({ ...all, before: all.dropped + all.lines.length - shown, loaded: true });
    return from;
  }
}

const readers = new Map<string, Reader>();

/** useLog is the log of an attempt of a step, which is read once however many show it. */
export function useLog(execution: string, node: string, attempt: number | undefined): LogState {
  const key = `${execution} ${node} ${attempt ?? ""}`;
  const watch = useCallback(
    (changed: () => void) => {
      const reader = readers.get(key) ?? new Reader(execution, node, attempt);
      readers.set(key, reader);
      reader.watchers.add(changed);
      return () => {
        reader.watchers.delete(changed);
        if (reader.watchers.size > 0) return;
        reader.stop();
        if (readers.get(key) === reader) readers.delete(key);
      };
    },
    [key, execution, node, attempt],
  );
  return useSyncExternalStore(watch, () => readers.get(key)?.state ?? nothing);
}
