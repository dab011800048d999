import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { address, type Scope } from "./api";

/** How long a tab that nobody sees stays connected: browsers have few connections for one server. */
const hiddenAfter = 20_000;

/** The key under which it is kept that a server follows nothing, as on AWS. */
const none = ["no hints"];

/** How often lists are read although the server says when they change: a hint may be lost. */
const besides = 30_000;

/**
 * useHints reads the lists of a scope's executions again when the server says that some have changed. While it does,
 * they need no other reading than every besides milliseconds, which every makes of what they need without it.
 */
export function useHints({ org, project }: Scope): (without: number) => number {
  const queries = useQueryClient();
  const [followed, setFollowed] = useState(false);

  useEffect(() => {
    if (queries.getQueryData(none)) return;
    let source: EventSource | undefined;
    let stopped = false;
    let hiding: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let pause = 1000;
    let reading = false;
    let dirty = false; // a hint came while the lists were read

    const read = async () => {
      dirty = true;
      if (reading) return;
      reading = true;
      while (dirty && !stopped) {
        dirty = false;
        await Promise.all([
          queries.invalidateQueries({ queryKey: ["executions", org, project] }),
          queries.invalidateQueries({ queryKey: ["waiting", org, project] }),
        ]);
      }
      reading = false;
    };
    const close = () => {
      source?.close();
      source = undefined;
      clearTimeout(again);
    };
    const connect = () => {
      close();
      const s = new EventSource(address("/v1/live", { org, project }));
      source = s;
      s.addEventListener("hint", () => {
        pause = 1000;
        setFollowed(true);
        void read(); // also at the first: something may have changed before the server listened
      });
      s.addEventListener("poll", () => {
        close();
        queries.setQueryData(none, true);
        setFollowed(false);
      });
      s.onerror = () => {
        if (stopped || source !== s) return;
        close(); // a browser's own retry doesn't tell why it failed
        setFollowed(false);
        again = setTimeout(connect, pause);
        pause = Math.min(pause * 2, 15_000);
      };
    };
    const seen = () => {
      clearTimeout(hiding);
      if (document.visibilityState === "visible") {
        if (!source && !queries.getQueryData(none)) connect();
        return;
      }
      hiding = setTimeout(() => {
        close();
        setFollowed(false);
      }, hiddenAfter);
    };
    connect();
    document.addEventListener("visibilitychange", seen);
    return () => {
      stopped = true;
      close();
      clearTimeout(hiding);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [queries, org, project]);

  return (without) => (followed ? Math.max(without, besides) : without);
}
