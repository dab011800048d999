import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ExecutionChange, ExecutionTree, Poll, TreeNode, Whoami } from "./api";
import { call, Problem, part } from "./api";
import { besides, hiddenAfter } from "./hints";
import { listen } from "./listen";
import { whoami } from "./session";
import { ended } from "./status";
import { changed, each } from "./tree";

export interface Live {
  tree?: ExecutionTree;
  problem?: Problem;
  /** how what is shown compares with how things are */
  state: "loading" | "live" | "ended" | "reconnecting" | "paused";
  /** when it was last known to be so */
  asOf: number;
}

/** How often an execution is read where no server follows it, and nobody says either that it has changed. */
const often = 3000;

/** How long a socket that couldn't be opened isn't tried again. */
const socketPause = 60_000;

/** useExecution is an execution as it is now, followed until it ends. put adds to it what was read besides. */
export function useExecution(
  id: string,
): Live & { refresh: () => void; put: (change: (tree: ExecutionTree) => ExecutionTree) => void } {
  const [live, setLive] = useState<Live>({ state: "loading", asOf: Date.now() });
  const [round, setRound] = useState(0);
  const current = useRef<ExecutionTree | undefined>(undefined);
  const queries = useQueryClient();

  // biome-ignore lint/correctness/useExhaustiveDependencies: a round is one more connection
  useEffect(() => {
    let source: EventSource | undefined;
    let stopped = false;
    let frame = 0;
    let hiding: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let pause = 1000;
    let turn = 0; // of several connections that were begun the last one counts
    let poll = 0; // milliseconds between two readings, where the server follows nothing
    let deaf: (() => void) | undefined; // ends the hearing over a socket
    let unheard: ReturnType<typeof setTimeout> | undefined;
    let followed = false; // the socket tells of changes
    let reading = false;
    let dirty = false; // a hint came while the execution was read
    let rested = 0; // when it may be read again: whoever reads a large one leaves the server alone for longer
    const overSocket = () => queries.getQueryData<Whoami>([whoami])?.live === "socket";

    const show = (tree: ExecutionTree) => {
      current.current = tree;
      pause = 1000;
      if (frame) return; // one drawing a frame, however many changes
      frame = requestAnimationFrame(() => {
        frame = 0;
        const t = current.current;
        if (t) setLive({ tree: t, state: ended(t.status) ? "ended" : "live", asOf: Date.now() });
      });
    };
    const fail = (e: unknown) => {
      const p = e instanceof Problem ? e : new Problem(0, String(e));
      const gone = p.status === 401 || p.status === 403 || p.status === 404;
      setLive((l) => ({ ...l, problem: p, state: l.tree && !gone ? "reconnecting" : l.state }));
      if (!gone && !stopped) retry();
    };
    const retry = () => {
      again = setTimeout(connect, pause);
      pause = Math.min(pause * 2, 15_000);
    };
    const hushed = () => {
      deaf?.();
      deaf = undefined;
      followed = false;
      clearTimeout(unheard);
      unheard = undefined;
    };
    const hear = () => {
      if (deaf || !current.current) return;
      const of = { org: current.current.org, project: current.current.project, execution: id };
      deaf = listen("socket", of, {
        hint: () => {
          followed = true;
          dirty = true;
          if (reading) return;
          clearTimeout(again);
          again = setTimeout(connect, Math.max(0, rested - Date.now()));
        },
        lost: (why) => {
          hushed();
          if (why === "over")
            void connect(); // says what is wrong
          else
            unheard = setTimeout(() => {
              unheard = undefined;
              hear();
            }, socketPause);
        },
      });
    };
    const connect = async () => {
      source?.close();
      source = undefined;
      clearTimeout(again);
      const mine = ++turn;
      const began = Date.now();
      reading = true;
      dirty = false;
      try {
        const tree = await call<ExecutionTree>(`/v1/executions/${part(id)}`);
        if (stopped || mine !== turn) return;
        reading = false;
        rested = Date.now() + Math.max(1000, 4 * (Date.now() - began));
        show(keepMore(current.current, tree));
        if (ended(tree.status)) {
          hushed();
          return;
        }
        if (overSocket()) {
          poll = often;
          if (!unheard) hear();
          again = setTimeout(connect, dirty ? rested - Date.now() : followed ? besides : poll);
          return;
        }
        if (poll > 0) {
          again = setTimeout(connect, poll);
          return;
        }
      } catch (e) {
        if (!stopped && mine === turn) {
          reading = false;
          fail(e);
        }
        return;
      }
      const s = new EventSource(`/v1/executions/${part(id)}/events`);
      source = s;
      s.addEventListener("tree", (e) => {
        const tree = JSON.parse(e.data) as ExecutionTree;
        show(keepMore(current.current, tree));
        if (ended(tree.status)) s.close();
      });
      s.addEventListener("change", (e) => {
        if (!current.current) return;
        const tree = changed(current.current, JSON.parse(e.data) as ExecutionChange);
        show(tree);
        if (ended(tree.status)) s.close();
      });
      s.addEventListener("poll", (e) => {
        s.close();
        poll = (JSON.parse(e.data) as Poll).seconds * 1000;
        again = setTimeout(connect, poll);
      });
      s.onerror = () => {
        s.close(); // a browser's own retry doesn't tell why it failed
        if (stopped || source !== s) return;
        setLive((l) => ({ ...l, state: "reconnecting" }));
        retry();
      };
    };
    const seen = () => {
      clearTimeout(hiding);
      if (document.visibilityState === "visible") {
        if (!source && current.current && !ended(current.current.status)) void connect();
        return;
      }
      hiding = setTimeout(() => {
        if (poll > 0) {
          hushed();
          clearTimeout(again);
          source = undefined;
          setLive((l) => (l.state === "live" ? { ...l, state: "paused" } : l));
          return;
        }
        if (!source || source.readyState === EventSource.CLOSED) return;
        source.close();
        source = undefined;
        setLive((l) => ({ ...l, state: "paused" }));
      }, hiddenAfter);
    };
    current.current = undefined;
    void connect();
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("online", connect);
    return () => {
      stopped = true;
      source?.close();
      hushed();
      cancelAnimationFrame(frame);
      clearTimeout(hiding);
      clearTimeout(again);
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("online", connect);
    };
  }, [id, round]);

  return {
    ...live,
    refresh: () => setRound((n) => n + 1),
    put: (change) => {
      if (!current.current) return;
      const tree = change(current.current);
      current.current = tree;
      setLive((l) => ({ ...l, tree }));
    },
  };
}

/** keepMore keeps what was read beyond an answer's room, when the next answer comes. */
function keepMore(before: ExecutionTree | undefined, now: ExecutionTree): ExecutionTree {
  if (!before || !now.root || !before.root) return now;
  const known = new Map<string, TreeNode>();
  each(before.root, (n) => {
    known.set(n.id, n);
  });
  const fill = (n: TreeNode): TreeNode => {
    const children = (n.children ?? []).map(fill);
    const old = known.get(n.id);
    if (n.hidden && old && (old.children?.length ?? 0) > children.length) {
      return { ...n, children: [...children, ...(old.children ?? []).slice(children.length)], hidden: old.hidden };
    }
    return { ...n, children };
  };
  return { ...now, root: fill(now.root) };
}
