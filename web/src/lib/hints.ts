import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Scope } from "./api";
import { listen } from "./listen";
import { useWhoami, whoami } from "./session";

/** How long a tab that nobody sees stays connected: browsers have few connections for one server. */
export const hiddenAfter = 20_000;

/** How often lists are read although the server says when they change: a hint may be lost. */
export const besides = 30_000;

/** How long it takes at most until a connection is tried again: lists are read meanwhile. */
const longest = { events: 15_000, socket: 5 * 60_000 };

/**
 * useHints reads the lists of a scope's executions again when the server says that some have changed. While it does,
 * they need no other reading than every besides milliseconds, which every makes of what they need without it.
 */
export function useHints({ org, project }: Scope): (without: number) => number {
  const queries = useQueryClient();
  const [followed, setFollowed] = useState(false);
  const by = useWhoami().data?.live;

  useEffect(() => {
    if (!by) return;
    let close: (() => void) | undefined;
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
    const disconnect = () => {
      close?.();
      close = undefined;
      clearTimeout(again);
    };
    const connect = () => {
      disconnect();
      close = listen(
        by,
        { org, project },
        {
          hint: () => {
            pause = 1000;
            setFollowed(true);
            void read();
          },
          lost: (why) => {
            disconnect();
            setFollowed(false);
            if (why === "over") void queries.invalidateQueries({ queryKey: [whoami] });
            else again = setTimeout(connect, why === "later" ? longest.socket : pause);
            pause = Math.min(pause * 2, longest[by]);
          },
        },
      );
    };
    const seen = () => {
      clearTimeout(hiding);
      if (document.visibilityState === "visible") {
        if (!close) connect();
        return;
      }
      hiding = setTimeout(() => {
        disconnect();
        setFollowed(false);
      }, hiddenAfter);
    };
    connect();
    document.addEventListener("visibilitychange", seen);
    return () => {
      stopped = true;
      disconnect();
      clearTimeout(hiding);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [queries, org, project, by]);

  return (without) => (followed ? Math.max(without, besides) : without);
}
