import { useMemo, useState } from "react";
import type { Entity } from "../lib/api";
import { type Choice, joined, merge, type Part } from "../lib/merge";
import { Diff } from "../ui/Diff";
import { Modal } from "../ui/Modal";
import { Ago } from "../ui/Time";

interface Props {
  base: string;
  mine: string;
  theirs: Entity;
  /** Goes on with the merged text, which is made from theirs. */
  take: (text: string) => void;
  close: () => void;
}

const choices: [Choice, string][] = [
  ["theirs", "Theirs"],
  ["mine", "Yours"],
  ["both", "Both, yours first"],
];

/** Merge lays a text over what somebody else has saved meanwhile. Nothing is taken before it was shown. */
export function Merge({ base, mine, theirs, take, close }: Props) {
  const parts = useMemo(() => merge(base, mine, theirs.yaml ?? ""), [base, mine, theirs]);
  const count = parts.filter((p) => p.kind === "conflict").length;
  const [chosen, setChosen] = useState<(Choice | undefined)[]>([]);
  const open = Array.from({ length: count }, (_, i) => chosen[i]).filter((c) => !c).length;
  const text = joined(parts, chosen);
  let conflict = 0;
  return (
    <Modal title="Somebody else has saved it meanwhile" close={close} wide>
      <p>
        {theirs.updatedBy} saved version {theirs.version} <Ago at={theirs.updatedAt} />. Nothing of yours is lost: lines
        that only one of you has changed are put together, and{" "}
        {count === 0 ? "there are no others." : `you choose for the others: ${open} of ${count} to go.`}
      </p>
      <div className="stack">
        {parts.map((p, i) => {
          if (p.kind !== "conflict") return <Settled key={String(i)} part={p} />;
          const n = conflict++;
          const set = (c: Choice) => setChosen(Object.assign([...chosen], { [n]: c }));
          return <Conflict key={String(i)} n={n} count={count} part={p} chosen={chosen[n]} choose={set} />;
        })}
      </div>
      <div className="row">
        <button type="button" className="primary" disabled={text === undefined} onClick={() => take(text ?? "")}>
          Go on with this
        </button>
        <button type="button" onClick={close}>
          Back to your text
        </button>
      </div>
    </Modal>
  );
}

const all = (mark: string, lines: string[]) => lines.map((l) => `${mark}${l}`);

/** Settled is a part that nobody is asked about. */
function Settled({ part: p }: { part: Exclude<Part, { kind: "conflict" }> }) {
  if (p.kind === "same") {
    const { lines } = p;
    const left = lines.length > 7 ? [...lines.slice(0, 3), "⋯", ...lines.slice(-3)] : lines;
    return <pre className="same">{left.join("\n")}</pre>;
  }
  const whose = { mine: "Yours", theirs: "Theirs", both: "The same from both" }[p.kind];
  return (
    <div>
      <strong>{whose}</strong>
      <Diff text={[...all("-", p.base), ...all("+", p.lines)].join("\n")} label={whose} />
    </div>
  );
}

interface ConflictProps {
  n: number;
  count: number;
  part: Extract<Part, { kind: "conflict" }>;
  chosen?: Choice;
  choose: (choice: Choice) => void;
}

/** Conflict is what both have changed, to choose from. */
function Conflict({ n, count, part: p, chosen, choose }: ConflictProps) {
  const as = (title: string, lines: string[]) => (
    <div>
      {title}
      <pre>{lines.join("\n") || "(nothing)"}</pre>
    </div>
  );
  return (
    <fieldset>
      <legend>
        Conflict {n + 1} of {count}
      </legend>
      {as("As it was", p.base)}
      {as("Theirs", p.theirs)}
      {as("Yours", p.mine)}
      <div className="row">
        {choices.map(([choice, word]) => (
          <label key={choice} className="check">
            <input type="radio" name={`conflict ${n}`} checked={chosen === choice} onChange={() => choose(choice)} />
            {word}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
