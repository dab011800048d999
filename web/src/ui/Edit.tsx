import { Link } from "@tanstack/react-router";
import type { Scope } from "../lib/api";
import type { Kind } from "../lib/kinds";
import { useMay } from "../lib/may";
import { addressOf } from "./Go";

interface Props {
  scope: Scope;
  of: Kind;
  /** Which one; none: a new one. */
  id?: string;
  /** What it belongs to: an infrastructure's environment, a trigger's or an input set's pipeline. */
  env?: string;
}

/** Edit leads to the page that edits a document or begins a new one, or says why one may not. */
export function Edit({ scope, of, id, env }: Props) {
  const { why } = useMay(scope, "entity.save", of.kind, id);
  const word = id === undefined ? `New ${of.one}` : "Edit";
  if (why) {
    return (
      <button type="button" disabled title={why}>
        {word}
        <span className="sr">: {why}</span>
      </button>
    );
  }
  return (
    <Link to={addressOf(scope, ["edit", of.kind])} search={{ id, env } as object} className="button">
      {word}
    </Link>
  );
}
