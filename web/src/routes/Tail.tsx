import { plain } from "../lib/ansi";
import { useLog } from "../lib/log";

/** How many lines of a failed step are shown with its failure. */
const most = 20;

/** Tail is the end of a step's log: what it said as an error, if it said any of that. */
export function Tail({ execution, node }: { execution: string; node: string }) {
  const log = useLog(execution, node, undefined);
  const errors = log.lines.filter((l) => l.l === "ERROR");
  const lines = (errors.length > 0 ? errors : log.lines).slice(-most);
  if (lines.length === 0) return null;
  return (
    <pre className="tail" role="group" tabIndex={0} aria-label="The end of its log">
      {lines.map((l) => plain(l.m)).join("\n")}
    </pre>
  );
}
