/** Diff shows a difference: lines that begin with + came, those with - went. */
export function Diff({ text, label = "Difference" }: { text: string; label?: string }) {
  return (
    <pre className="diff" role="region" aria-label={label} tabIndex={0}>
      {text.split("\n").map((line, i) => {
        const Line = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span";
        return <Line key={String(i)}>{`${line}\n`}</Line>;
      })}
    </pre>
  );
}
