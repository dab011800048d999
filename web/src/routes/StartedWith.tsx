import type { ExecutionTree } from "../lib/api";
import { Facts } from "../ui/Facts";
import { Yaml } from "../ui/Yaml";

interface Props {
  tree: ExecutionTree;
  open: boolean;
  show: (open: boolean) => void;
}

/** StartedWith is what an execution was started with: its inputs, and the versions of templates that it is made of. */
export function StartedWith({ tree, open, show }: Props) {
  const facts: [string, string | undefined][] = [
    ["Input sets", tree.inputSets?.join(", ")],
    ["From the stage", tree.fromStage],
    ["In spite of freezes", tree.overrideFreeze],
    ["Templates", tree.templates?.map((t) => `${t.template}, saved ${t.version} times`).join("; ")],
    ["Warnings", tree.warnings?.map((w) => `${w.path ?? ""} ${w.message}`).join("; ")],
  ];
  return (
    <details open={open} onToggle={(e) => e.currentTarget.open !== open && show(e.currentTarget.open)}>
      <summary>What it was started with</summary>
      <Facts facts={facts} />
      {tree.inputs ? <Yaml text={tree.inputs} label="Its inputs" /> : <p className="empty">It had no inputs.</p>}
    </details>
  );
}
