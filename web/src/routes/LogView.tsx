import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { plain, type Span, spans } from "../lib/ansi";
import type { LogLine, TreeNode } from "../lib/api";
import { useLog } from "../lib/log";
import { ended } from "../lib/status";
import { duration } from "../lib/time";
import { Loading, ProblemCard } from "../ui/states";
import type { Selection } from "./Execution";

type Clock = "off" | "relative" | "local" | "utc";
const clocks: [Clock, string][] = [
  ["off", "No times"],
  ["relative", "Since the start"],
  ["local", "Local time"],
  ["utc", "UTC"],
];

interface Props {
  execution: string;
  node: TreeNode;
  selection: Selection;
  select: (change: Selection) => void;
}

/** How high a line is that isn't wrapped. */
const lineHeight = 18;

/** Item is a row of the log: a line, or the heading of the unit that wrote what follows. */
type Item = { line: LogLine; number: number } | { heading: string };

/** LogView shows the log of a step as it comes. It stays at the end until somebody scrolls away from it. */
export function LogView({ execution, node, selection, select }: Props) {
  const log = useLog(execution, node.id, selection.attempt);
  const [clock, setClock] = useState<Clock>("off");
  const [wrap, setWrap] = useState(false);
  const [text, setText] = useState("");
  const query = useDeferredValue(text);
  const [hit, setHit] = useState(0);
  const [mode, setMode] = useState<"start" | "follow" | "stay">("start");
  const [seen, setSeen] = useState(0);
  const pane = useRef<HTMLDivElement>(null);
  const items = useMemo(() => itemsOf(log.lines, log.dropped), [log.lines, log.dropped]);
  const hits = useMemo(() => search(items, query), [items, query]);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => pane.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  const digits = log.dropped < 0 ? 5 : String(log.dropped + log.lines.length).length;
  const start = node.startedAt ? Date.parse(node.startedAt) : (log.lines[0]?.t ?? 0);

  // A line of the address, or the first error of a step that failed, is where one begins; else the end.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when there is something to begin with
  useEffect(() => {
    const elsewhere = selection.line !== undefined || failed(node);
    if (mode !== "start" || items.length === 0 || !log.loaded || (log.reading && elsewhere)) return;
    const wanted = selection.line ? rowOf(items, selection.line) : firstError(items, node);
    if (wanted < 0) setMode("follow");
    else stay(wanted);
  }, [items, log.loaded, log.reading]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: more lines scroll, and nothing else
  useEffect(() => {
    const atTheEnd = mode === "follow" || (mode === "start" && log.reading); // while those before them are read
    if (atTheEnd && items.length > 0) virtual.scrollToIndex(items.length - 1, { align: "end" });
  }, [items.length, mode]);
  // Lines that come before those in sight don't move them.
  const shown = useRef({ dropped: log.dropped, items });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only lines before them do that
  useLayoutEffect(() => {
    const before = shown.current;
    shown.current = { dropped: log.dropped, items };
    const counted = before.dropped < 0 && log.dropped >= 0; // from the end until now
    if (counted) setSeen((n) => n + log.before - before.dropped);
    if (mode !== "stay" || !counted || !pane.current) return;
    const more = rowOf(items, log.before + 1) - rowOf(before.items, before.dropped + 1);
    virtual.scrollToOffset(pane.current.scrollTop + more * lineHeight);
  }, [items]);

  const stay = (row?: number) => {
    setMode("stay");
    setSeen(log.lines.length + log.dropped);
    if (row !== undefined) virtual.scrollToIndex(row, { align: "center" });
  };
  // Only a person's own scrolling ends the following: rows that come scroll, too.
  const turned = () => {
    if (mode === "follow" && !atEnd(pane.current)) stay();
    else if (mode === "stay" && atEnd(pane.current)) setMode("follow");
  };
  const go = (step: number) => {
    if (hits.length === 0) return;
    const next = (hit + step + hits.length) % hits.length;
    setHit(next);
    stay(hits[next]);
  };
  const fresh = log.lines.length + log.dropped - seen;
  return (
    <div className="log">
      <div className="row log-bar">
        <label className="sr" htmlFor="log-search">
          Search in this log
        </label>
        <input
          id="log-search"
          data-search
          type="search"
          placeholder="Search this log"
          value={text}
          onChange={(e) => {
            setText(e.target.value);
            setHit(-1);
          }}
          onKeyDown={(e) => {
            if (e.key === "Enter") go(e.shiftKey ? -1 : 1);
          }}
        />
        <span role="status" className="faint">
          {query &&
            (hits.length === 0
              ? "no match"
              : `${Math.max(0, hit) + 1} of ${new Intl.NumberFormat("en").format(hits.length)}`)}
        </span>
        <span className="grow" />
        {log.attempts > 1 && (
          <label>
            <span className="sr">Attempt</span>
            <select value={log.attempt} onChange={(e) => select({ attempt: Number(e.target.value), line: undefined })}>
              {Array.from({ length: log.attempts }, (_, i) => (
                <option key={String(i)} value={i + 1}>
                  Attempt {i + 1}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          <span className="sr">Times</span>
          <select value={clock} onChange={(e) => setClock(e.target.value as Clock)}>
            {clocks.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label className="check">
          <input type="checkbox" checked={wrap} onChange={(e) => setWrap(e.target.checked)} /> Wrap
        </label>
        <button
          type="button"
          className="quiet"
          onClick={() => download(log.lines, `${node.identifier ?? node.id}.log`)}
        >
          Download
        </button>
      </div>
      {log.problem && <ProblemCard problem={log.problem} />}
      {log.dropped > 0 && !log.reading && (
        <p className="faint">
          The first {new Intl.NumberFormat("en").format(log.dropped)} lines aren't kept here; slipway logs has them.
        </p>
      )}
      {!log.loaded && log.lines.length === 0 && <Loading what="the log" />}
      {log.loaded && log.lines.length === 0 && !log.problem && (
        <p className="empty">{log.ended ? "It wrote no log." : "It has written nothing yet."}</p>
      )}
      <div
        ref={pane}
        role="log"
        aria-live="off"
        aria-busy={log.reading || !log.loaded}
        aria-label="Log"
        tabIndex={0}
        className={wrap ? "lines wrap" : "lines"}
        onWheel={(e) => {
          if (e.deltaY < 0 && mode === "follow" && e.currentTarget.scrollTop > 0) stay();
          else requestAnimationFrame(turned);
        }}
        onKeyUp={turned}
        onPointerUp={turned}
        onTouchEnd={turned}
      >
        <div className="spread" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((v) => {
            const item = items[v.index];
            if (!item) return null;
            return (
              <div
                key={v.key}
                ref={wrap ? virtual.measureElement : undefined}
                data-index={v.index}
                className="line"
                style={{ transform: `translateY(${v.start}px)` }}
              >
                {"heading" in item ? (
                  <span className="unit">{item.heading}</span>
                ) : (
                  <Line
                    line={item.line}
                    number={item.number}
                    digits={digits}
                    time={at(item.line.t, clock, start)}
                    marked={selection.line === item.number}
                    hit={query !== "" && hits[hit] === v.index}
                    mark={(line) => select({ line })}
                  />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {mode === "stay" && !log.ended && !ended(node.status) && (
        <button type="button" className="follow" onClick={() => setMode("follow")}>
          Paused{fresh > 0 ? `, ${fresh} new lines` : ""}: go to the end
        </button>
      )}
    </div>
  );
}

/** atEnd says whether the last line is in sight. */
const atEnd = (p: HTMLElement | null) => !p || p.scrollHeight - p.scrollTop - p.clientHeight < 30;

function itemsOf(lines: LogLine[], dropped: number): Item[] {
  const out: Item[] = [];
  let unit = "";
  lines.forEach((line, i) => {
    if ((line.u ?? "") !== unit) {
      unit = line.u ?? "";
      if (unit) out.push({ heading: unit });
    }
    out.push({ line, number: dropped + i + 1 });
  });
  return out;
}

const rowOf = (items: Item[], line: number) => items.findIndex((i) => "number" in i && i.number === line);

const failed = (node: TreeNode) => ["Failed", "Errored", "Expired"].includes(node.status);

function firstError(items: Item[], node: TreeNode): number {
  if (!failed(node)) return -1;
  return items.findIndex((i) => "line" in i && i.line.l === "ERROR");
}

function search(items: Item[], query: string): number[] {
  if (!query) return [];
  const wanted = query.toLowerCase();
  const out: number[] = [];
  items.forEach((item, i) => {
    if ("line" in item && plain(item.line.m).toLowerCase().includes(wanted)) out.push(i);
  });
  return out;
}

function at(t: number, clock: Clock, start: number): string {
  switch (clock) {
    case "off":
      return "";
    case "relative":
      return duration(Math.max(0, t - start));
    case "local":
      return new Date(t).toLocaleTimeString("en-GB");
    case "utc":
      return `${new Date(t).toISOString().slice(11, 23)}Z`;
  }
}

/** How much of a line is drawn: more makes browsers slow. */
const longest = 10_000;

interface LineProps {
  line: LogLine;
  number: number;
  digits: number;
  time: string;
  marked: boolean;
  hit: boolean;
  mark: (n: number) => void;
}

const Line = memo(function Line({ line, number, digits, time, marked, hit, mark }: LineProps) {
  const [whole, setWhole] = useState(false);
  const cut = line.m.length > longest && !whole;
  const parts = spans(cut ? line.m.slice(0, longest) : line.m);
  return (
    <span className={`${line.l === "ERROR" ? "error" : ""}${marked ? " marked" : ""}${hit ? " hit" : ""}`}>
      {number > 0 ? (
        <a
          href={`?line=${number}`}
          className="number"
          aria-label={`Line ${number}`}
          tabIndex={-1}
          style={{ minWidth: `${digits + 1}ch` }}
          onClick={(e) => {
            e.preventDefault();
            mark(number);
          }}
        >
          {number}
        </a>
      ) : (
        <span className="number" style={{ minWidth: `${digits + 1}ch` }}>
          {"\u00a0" /* until those before it are counted; as high as a number */}
        </span>
      )}
      {time && <span className="when">{time} </span>}
      {line.l === "ERROR" && <span className="sr">Error: </span>}
      {parts.map((s, i) => (
        <Piece key={String(i)} span={s} />
      ))}
      {cut && (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          show all {line.m.length} characters
        </button>
      )}
    </span>
  );
});

function Piece({ span }: { span: Span }) {
  if (!span.classes && !span.fg && !span.bg && !span.href) return span.text;
  const named = (c?: string) => (c?.startsWith("c") ? c : undefined);
  const classes = [span.classes, named(span.fg) && `fg-${span.fg}`, named(span.bg) && `bg-${span.bg}`]
    .filter(Boolean)
    .join(" ");
  const style = {
    color: span.fg && !named(span.fg) ? span.fg : undefined,
    backgroundColor: span.bg && !named(span.bg) ? span.bg : undefined,
  };
  if (span.href) {
    return (
      <a href={span.href} target="_blank" rel="noopener noreferrer" className={classes} style={style}>
        {span.text}
      </a>
    );
  }
  return (
    <span className={classes} style={style}>
      {span.text}
    </span>
  );
}

function download(lines: LogLine[], name: string) {
  const text = lines.map((l) => `${new Date(l.t).toISOString()} ${l.l === "ERROR" ? "ERROR " : ""}${plain(l.m)}\n`);
  const url = URL.createObjectURL(new Blob(text, { type: "text/plain" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  URL.revokeObjectURL(url);
}
