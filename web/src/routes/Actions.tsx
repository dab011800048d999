import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call, type ExecutionTree, newKey, part } from "../lib/api";
import { ended, lookOf } from "../lib/status";
import { Modal } from "../ui/Modal";
import { ProblemCard } from "../ui/states";
import { Rerun, Rollback } from "./Rerun";

/** Actions are what a person can do with the whole execution. One that makes no sense now says why. */
export function Actions({ tree, refresh }: { tree: ExecutionTree; refresh: () => void }) {
  const [asked, setAsked] = useState(false);
  const [next, setNext] = useState<"rerun" | "rollback">();
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState<Error>();
  const over = ended(tree.status);
  const paused = tree.status === "Paused" || tree.status === "Pausing";
  const act = async (verb: string) => {
    if (busy) return;
    setBusy(verb);
    setProblem(undefined);
    try {
      await call(`/v1/executions/${part(tree.id)}/${verb}`, { method: "POST", key: newKey() });
      setAsked(false);
      refresh();
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy("");
    }
  };
  const why = over ? "It has ended" : undefined;
  const notAgain = !over ? "It hasn't ended" : tree.rollbackOf ? "It rolls another one back" : undefined;
  const notBack = notAgain ?? (lookOf(tree.status).counts === "done" ? undefined : "It hasn't succeeded");
  return (
    <div className="row actions">
      <button
        type="button"
        disabled={over || busy !== ""}
        title={why}
        onClick={() => void act(paused ? "resume" : "pause")}
      >
        {paused ? "Resume" : "Pause"}
      </button>
      <button
        type="button"
        className="danger"
        disabled={over || busy !== ""}
        title={why}
        onClick={() => setAsked(true)}
      >
        Abort
      </button>
      <button type="button" disabled={notAgain !== undefined} title={notAgain} onClick={() => setNext("rerun")}>
        Run again…
      </button>
      <button type="button" disabled={notBack !== undefined} title={notBack} onClick={() => setNext("rollback")}>
        Roll back…
      </button>
      {over && (
        <Link to="/x/$execution/compare/$other" params={{ execution: tree.id, other: "last" }}>
          Compare
        </Link>
      )}
      {next === "rerun" && <Rerun tree={tree} close={() => setNext(undefined)} />}
      {next === "rollback" && <Rollback tree={tree} close={() => setNext(undefined)} />}
      {asked && (
        <Modal title={`Abort ${tree.name || tree.pipeline} #${tree.sequence}?`} close={() => setAsked(false)}>
          <p>What runs is stopped where it is. Nothing is rolled back.</p>
          {problem && <ProblemCard problem={problem} />}
          <div className="row">
            <button type="button" className="danger" disabled={busy !== ""} onClick={() => void act("abort")}>
              {busy === "abort" ? "Aborting…" : "Abort"}
            </button>
            <button type="button" onClick={() => setAsked(false)}>
              Let it run
            </button>
          </div>
        </Modal>
      )}
      {problem && !asked && (
        <Modal title="That didn't work" close={() => setProblem(undefined)}>
          <ProblemCard problem={problem} />
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </Modal>
      )}
    </div>
  );
}
