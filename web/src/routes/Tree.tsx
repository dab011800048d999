import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, useEffect, useMemo, useRef, useState } from "react";
import type { TreeNode } from "../lib/api";
import { find, type Row, rows, shut, summary, title } from "../lib/tree";
import { Status } from "../ui/Status";
import { Took } from "../ui/Time";

interface Props {
  root: TreeNode;
  selected?: string;
  select: (id: string) => void;
  more: (n: TreeNode) => Promise<void>;
}

const height = 30;

/** Tree shows the nodes of an execution as rows, and draws those alone that are in sight. */
export function Tree({ root, selected, select, more }: Props) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [at, setAt] = useState<string>();
  const pane = useRef<HTMLDivElement>(null);
  const list = useMemo(() => rows(root, toggled), [root, toggled]);
  const virtual = useVirtualizer({
    count: list.length,
    getScrollElement: () => pane.current,
    estimateSize: () => height,
    overscan: 10,
  });
  const current = Math.max(
    0,
    list.findIndex((r) => r.node.id === (at ?? selected)),
  );

  // What is selected by the address is made visible, whoever closed what it is in.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another selection opens anything
  useEffect(() => {
    if (!selected) return;
    const found = find(root, selected);
    const closed = found?.above.slice(1).filter((n) => !(toggled.get(n.id) ?? !shut(n))) ?? [];
    if (closed.length > 0) setToggled(new Map([...toggled, ...closed.map((n): [string, boolean] => [n.id, true])]));
    setAt(selected);
  }, [selected]);
  const place = list.findIndex((r) => r.node.id === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another selection scrolls
  useEffect(() => {
    if (place >= 0) virtual.scrollToIndex(place, { align: "auto" });
  }, [selected, place >= 0]);

  const toggle = ({ node, open }: Row) => {
    setToggled(new Map(toggled).set(node.id, !open));
    // Whoever opens what an answer had no room for wants to see it.
    if (!open && node.hidden && !node.children?.length) void more(node);
  };
  const move = (i: number) => {
    const row = list[Math.max(0, Math.min(list.length - 1, i))];
    if (!row) return;
    setAt(row.node.id);
    virtual.scrollToIndex(list.indexOf(row), { align: "auto" });
    requestAnimationFrame(() => pane.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus());
  };
  const press = (e: KeyboardEvent) => {
    const row = list[current];
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor((pane.current?.clientHeight ?? height) / height) - 1);
    const to: Record<string, number> = {
      ArrowDown: current + 1,
      j: current + 1,
      ArrowUp: current - 1,
      k: current - 1,
      Home: 0,
      End: list.length - 1,
      PageDown: current + page,
      PageUp: current - page,
    };
    if (e.key in to) move(to[e.key] ?? 0);
    else if (e.key === "ArrowRight" && row.open === false) toggle(row);
    else if (e.key === "ArrowRight" && row.open) move(current + 1);
    else if (e.key === "ArrowLeft" && row.open) toggle(row);
    else if (e.key === "ArrowLeft") move(above(list, current));
    else if (e.key === "Enter" || e.key === " ") select(row.node.id);
    else return;
    e.preventDefault();
  };
  return (
    <section className="tree" aria-label="Stages and steps">
      <div
        role="treegrid"
        aria-label="Stages and steps"
        aria-rowcount={list.length}
        ref={pane}
        className="pane"
        onKeyDown={press}
        tabIndex={-1}
      >
        <div style={{ height: virtual.getTotalSize() }} className="spread" role="presentation">
          {virtual.getVirtualItems().map((v) => {
            const row = list[v.index];
            if (!row) return null;
            return (
              <TreeRow
                key={row.node.id}
                row={row}
                top={v.start}
                index={v.index}
                selected={row.node.id === selected}
                focusable={v.index === current}
                select={select}
                toggle={toggle}
                more={more}
              />
            );
          })}
        </div>
      </div>
    </section>
  );
}

/** above is the index of the row that a row is in. */
function above(list: Row[], i: number): number {
  const depth = list[i]?.depth ?? 0;
  for (let j = i - 1; j >= 0; j--) if ((list[j]?.depth ?? 0) < depth) return j;
  return i;
}

interface RowProps {
  row: Row;
  top: number;
  index: number;
  selected: boolean;
  focusable: boolean;
  select: (id: string) => void;
  toggle: (row: Row) => void;
  more: (n: TreeNode) => Promise<void>;
}

const TreeRow = memo(function TreeRow({ row, top, index, selected, focusable, select, toggle, more }: RowProps) {
  const { node, depth, open } = row;
  const many = (node.children?.length ?? 0) > 50 || node.hidden !== undefined;
  const [reading, setReading] = useState(false);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the grid's
    <div
      role="row"
      aria-level={depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={open}
      aria-selected={selected}
      aria-rowindex={index + 1}
      tabIndex={focusable ? 0 : -1}
      className="tree-row"
      style={{ transform: `translateY(${top}px)`, paddingLeft: 6 + depth * 16 }}
      onClick={() => select(node.id)}
    >
      <span role="gridcell" className="name">
        {open === undefined ? (
          <span className="twist" />
        ) : (
          <button
            type="button"
            tabIndex={-1}
            className="twist"
            aria-label={open ? "Close" : "Open"}
            onClick={(e) => {
              e.stopPropagation();
              toggle(row);
            }}
          >
            {open ? "▾" : "▸"}
          </button>
        )}
        <Status status={node.status} small />
        <span className="text">{title(node)}</span>
        {node.rollback && <span className="tag">rollback</span>}
        {(node.kind === "strategy" || many) && <span className="faint">{summary(node)}</span>}
        {node.hidden && (
          <button
            type="button"
            tabIndex={-1}
            className="quiet"
            disabled={reading}
            onClick={async (e) => {
              e.stopPropagation();
              setReading(true);
              await more(node).finally(() => setReading(false));
            }}
          >
            {reading ? "Reading…" : "Read more"}
          </button>
        )}
      </span>
      <span role="gridcell" className="took faint">
        <Took from={node.startedAt} to={node.startedAt ? node.endedAt : undefined} />
      </span>
    </div>
  );
});
