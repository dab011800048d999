import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { call, type Schemas, type Scope } from "../lib/api";
import { kindOf, pageOf } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { useSettled } from "../lib/useSettled";
import { addressOf } from "./Go";
import { Modal } from "./Modal";
import { ProblemCard } from "./states";

/** A page that the palette leads to. */
interface Place {
  key: string;
  name: string;
  what: string;
  to: string;
}

interface Props {
  scope: Scope;
  /** The pages of the scope, by their names. */
  pages: [page: string, name: string][];
  close: () => void;
}

/** Palette leads to what one types the beginning of: a page, a document, or an execution as PIPELINE#NUMBER. */
export function Palette({ scope, pages, close }: Props) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const q = typed.trim();
  const settled = useSettled(q, 200);
  const { data, error, isFetching } = useQuery({
    queryKey: ["search", scope, settled],
    queryFn: ({ signal }) => call<Schemas["Searched"]>("/v1/search", { query: { ...scope, q: settled }, signal }),
    enabled: settled !== "",
  });
  const places: Place[] = [
    ...pages
      .filter(([, name]) => q === "" || name.toLowerCase().startsWith(q.toLowerCase()))
      .map(([page, name]) => ({ key: `page ${page}`, name, what: "page", to: addressOf(scope, page.split("/")) })),
    ...(q !== "" && settled === q ? (data?.matches ?? []).flatMap(placeOf) : []),
  ];
  const chosen = Math.min(at, places.length - 1);
  const go = (place: Place | undefined) => {
    if (!place) return;
    close();
    void navigate({ to: place.to as "/executions", search: {} });
  };
  return (
    <Modal title="Go to" close={close}>
      <div className="stack">
        <input
          data-first
          role="combobox"
          aria-label="What it begins with; PIPELINE#NUMBER is an execution"
          aria-expanded={places.length > 0}
          aria-controls={id}
          aria-activedescendant={places[chosen] ? `${id}-${chosen}` : undefined}
          autoComplete="off"
          spellCheck={false}
          maxLength={128}
          value={typed}
          onChange={(e) => {
            setTyped(e.target.value);
            setAt(0);
          }}
          onKeyDown={(e) => {
            const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
            if (step && places.length > 0) {
              e.preventDefault();
              setAt((chosen + step + places.length) % places.length);
            }
            if (e.key === "Enter") {
              e.preventDefault();
              go(places[chosen]);
            }
          }}
        />
        <div id={id} role="listbox" aria-label="What there is" className="palette">
          {places.map((p, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
            <div
              key={p.key}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === chosen}
              ref={i === chosen ? (e) => e?.scrollIntoView({ block: "nearest" }) : undefined}
              onClick={() => go(p)}
            >
              {p.name} <span className="faint">{p.what}</span>
            </div>
          ))}
        </div>
        <p className="faint" role="status">
          {q !== "" && settled === q && !isFetching && places.length === 0 && `Nothing begins with ${q}.`}
          {q !== "" && data && !data.complete && "More begins with it than is shown here; type more of it."}
        </p>
        {error && <ProblemCard problem={error} />}
      </div>
    </Modal>
  );
}

/** placeOf is the page of what was found; none for kinds without one. */
function placeOf(m: Schemas["Match"]): Place[] {
  const scope = { org: m.org, project: m.project };
  if (m.execution) {
    return [
      {
        key: m.execution,
        name: `${m.name || m.id} #${m.sequence}`,
        what: `execution of ${nameOf(scope)}`,
        to: `/x/${encodeURIComponent(m.execution)}`,
      },
    ];
  }
  const of = kindOf(m.kind);
  if (!of && m.kind !== "secret") return [];
  const page = of ? pageOf(of, m.id, m.env) : ["secrets", m.id];
  return [
    {
      key: `${m.kind} ${m.org} ${m.project} ${m.env} ${m.id}`,
      name: m.name || m.id,
      what: `${of?.one ?? m.kind} ${m.id} of ${nameOf(scope)}`,
      to: addressOf(scope, page),
    },
  ];
}
