import { useEffect, useRef } from "react";

interface Props {
  text: string;
  label: string;
  /** the line to show, from 1 */
  line?: number;
  /** mark is told of a line that somebody has chosen; none: lines have no addresses */
  mark?: (line: number) => void;
}

/** Yaml shows a document as it was saved, with the numbers of its lines. */
export function Yaml({ text, label, line, mark }: Props) {
  const marked = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another line scrolls
  useEffect(() => marked.current?.scrollIntoView({ block: "center" }), [line]);
  const lines = text.replace(/\n$/, "").split("\n");
  const width = `${String(lines.length).length + 1}ch`;
  return (
    <section className="yaml" aria-label={label} tabIndex={0}>
      {lines.map((content, i) => (
        <div
          key={String(i)}
          ref={line === i + 1 ? marked : undefined}
          className={line === i + 1 ? "marked" : undefined}
        >
          {mark ? (
            <a
              href={`?line=${i + 1}`}
              className="number"
              aria-label={`Line ${i + 1}`}
              tabIndex={-1}
              style={{ minWidth: width }}
              onClick={(e) => {
                e.preventDefault();
                mark(i + 1);
              }}
            >
              {i + 1}
            </a>
          ) : (
            <span className="number" style={{ minWidth: width }}>
              {i + 1}
            </span>
          )}
          {content}
        </div>
      ))}
    </section>
  );
}
