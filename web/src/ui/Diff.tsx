/** Diff shows a difference: lines that begin with + came, those with - went. */
export function Diff({ text }: { text: string }) {
  return (
    <pre className="diff" role="region" aria-label="Difference" tabIndex={0}>
      {text.split("\n").map((line, i) => (
        <code key={String(i)} className={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}>
          {`${line}\n`}
        </code>
      ))}
    </pre>
  );
}
