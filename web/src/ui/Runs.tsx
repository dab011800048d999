import { Link } from "@tanstack/react-router";
import type { Execution } from "../lib/api";
import { lookOf } from "../lib/status";
import { Status } from "./Status";
import { Ago, Took } from "./Time";
import { useRows } from "./useRows";

/** Runs is a table of executions. */
export function Runs({ executions, busy }: { executions: Execution[]; busy: boolean }) {
  const rows = useRows();
  return (
    <div className="scroll">
      <table aria-busy={busy} ref={rows}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Pipeline</th>
            <th scope="col">Started by</th>
            <th scope="col">Started</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {executions.map((e) => (
            <tr key={e.id}>
              <td>
                <Status status={e.status} />
              </td>
              <td>
                <Link to="/x/$execution" params={{ execution: e.id }} search={{}} data-row>
                  {e.name || e.pipeline} <span className="faint">#{e.sequence}</span>
                </Link>
                {e.message && lookOf(e.status).counts === "failed" && <div className="why">{e.message}</div>}
                {e.rollbackOf && <div className="faint">rolls an execution back</div>}
                {e.retryOf && <div className="faint">repeats an execution</div>}
              </td>
              <td>{e.actor}</td>
              <td>
                <Ago at={e.startedAt} />
              </td>
              <td>
                <Took from={e.startedAt} to={e.endedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
