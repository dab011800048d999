import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { type Item, itemAt, type List } from "../lib/outline";

interface Props {
  lists: List[];
  /** Where in the text something was found. */
  findings: number[];
  /** The path of the item that is chosen, as keyOf has it. */
  chosen?: string;
  choose: (item: Item) => void;
  /** What the keys do with the chosen one: by how many places it goes up or down, or away. */
  move: (item: Item, by: number) => void;
  remove: (item: Item) => void;
}

/** keyOf names an item while the text stays as it is. */
export const keyOf = (item: Item) => item.path.join(".");

const inOrder = (lists: List[]): Item[] => lists.flatMap((l) => l.items.flatMap((i) => [i, ...inOrder(i.lists)]));

/** Graph draws stages and steps in the order in which they run: one below the other, and what runs together side by side. */
export function Graph({ lists, findings, chosen, choose, move, remove }: Props) {
  const tree = useRef<HTMLDivElement>(null);
  const lost = useRef(false); // the focus, with the box that had it
  const all = inOrder(lists);
  const at = Math.max(
    0,
    all.findIndex((i) => keyOf(i) === chosen),
  );
  const current = all[at];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus goes where the chosen one has gone
  useEffect(() => {
    if (!tree.current?.contains(document.activeElement) && !lost.current) return;
    lost.current = false;
    tree.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }, [chosen, lists]);
  const press = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (!current || e.ctrlKey || e.metaKey) return;
    if (e.altKey && step !== 0) {
      lost.current = true;
      move(current, step);
    } else if (e.key === "Delete") {
      lost.current = true;
      remove(current);
    } else {
      const next = e.key === "Home" ? all[0] : e.key === "End" ? all.at(-1) : step !== 0 ? all[at + step] : undefined;
      if (!next) return;
      choose(next);
    }
    e.preventDefault();
  };
  const found = findings.map((f) => itemAt(lists, f));
  const count = (item: Item) => {
    const n = found.filter((f) => f === item).length;
    return n === 0 ? "" : n === 1 ? "1 finding" : `${n} findings`;
  };
  const box = (item: Item, level: number, rollback: boolean): ReactNode => (
    <div key={keyOf(item)} className={`box ${item.kind}`}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys */}
      <div
        role="treeitem"
        aria-level={level}
        aria-selected={keyOf(item) === chosen}
        tabIndex={item === current ? 0 : -1}
        onClick={() => choose(item)}
      >
        {item.name}
        {item.type && <span className="faint"> {item.type}</span>}
        {rollback && <span className="faint"> on rollback</span>}
        {count(item) && <span className="why"> {count(item)}</span>}
      </div>
      {item.lists.map((l) => below(l, level + 1, item.kind))}
    </div>
  );
  const below = (l: List, level: number, kind?: string) =>
    l.items.length > 0 && (
      <div key={l.title} className={kind === "parallel" ? "beside" : "after"}>
        {l.items.map((i) => box(i, level, l.title === "Rollback steps"))}
      </div>
    );
  return (
    <div ref={tree} role="tree" aria-label="Stages and steps" className="graph" onKeyDown={press}>
      {lists.map((l) => below(l, 1))}
    </div>
  );
}
