import { useSyncExternalStore } from "react";
import { ago, between, exact } from "../lib/time";

let now = Date.now();
const readers = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

/** useNow is the time to the second: one clock for all that show it. */
export function useNow(): number {
  return useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      clock ??= setInterval(() => {
        now = Date.now();
        for (const r of readers) r();
      }, 1000);
      return () => {
        readers.delete(reader);
        if (readers.size > 0) return;
        clearInterval(clock);
        clock = undefined;
      };
    },
    () => now,
  );
}

/** Ago says how long ago something was, and when exactly. */
export function Ago({ at }: { at: string }) {
  const t = useNow();
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at, Math.max(t, Date.now() - 1000))}
    </time>
  );
}

/** Took says how long something took, or takes by now. */
export function Took({ from, to }: { from?: string; to?: string }) {
  return to ? <span>{between(from, to, 0)}</span> : <Running from={from} />;
}

function Running({ from }: { from?: string }) {
  const t = useNow();
  return <span>{between(from, undefined, Math.max(t, from ? Date.parse(from) : 0))}</span>;
}
