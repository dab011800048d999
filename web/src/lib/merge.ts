import { pairs } from "./diff";

/** A part of two texts that were made of one: what is the same, what one or both have changed alike, or a conflict. */
export type Part =
  | { kind: "same" | "mine" | "theirs" | "both"; base: string[]; lines: string[] }
  | { kind: "conflict"; base: string[]; mine: string[]; theirs: string[] };

/** A choice of what becomes of a conflict. */
export type Choice = "mine" | "theirs" | "both";

/** merge lays two texts over the one that both were made of, line by line. Lines that only one has changed aren't asked about. */
export function merge(base: string, mine: string, theirs: string): Part[] {
  const [b, m, t] = [base.split("\n"), mine.split("\n"), theirs.split("\n")];
  const inMine = new Map(pairs(b, m));
  const inTheirs = new Map(pairs(b, t));
  const parts: Part[] = [];
  const same: string[] = [];
  let [i, j, k] = [0, 0, 0];
  const flush = () => {
    if (same.length > 0) parts.push({ kind: "same", base: [...same], lines: [...same] });
    same.length = 0;
  };
  for (let at = 0; at <= b.length; at++) {
    const x = at < b.length ? inMine.get(at) : m.length;
    const y = at < b.length ? inTheirs.get(at) : t.length;
    if (x === undefined || y === undefined) continue;
    if (at > i || x > j || y > k) {
      flush();
      parts.push(part(b.slice(i, at), m.slice(j, x), t.slice(k, y)));
    }
    if (at < b.length) same.push(b[at] as string);
    [i, j, k] = [at + 1, x + 1, y + 1];
  }
  flush();
  return parts;
}

function part(base: string[], mine: string[], theirs: string[]): Part {
  const [b, m, t] = [base, mine, theirs].map((lines) => JSON.stringify(lines));
  if (m === t) return { kind: "both", base, lines: mine };
  if (t === b) return { kind: "mine", base, lines: mine };
  if (m === b) return { kind: "theirs", base, lines: theirs };
  return { kind: "conflict", base, mine, theirs };
}

/** joined is the text of the parts, with what was chosen for each conflict; undefined while one isn't chosen. */
export function joined(parts: Part[], chosen: (Choice | undefined)[]): string | undefined {
  const lines: string[] = [];
  let at = 0;
  for (const p of parts) {
    if (p.kind !== "conflict") {
      lines.push(...p.lines);
      continue;
    }
    const choice = chosen[at++];
    if (!choice) return undefined;
    if (choice !== "theirs") lines.push(...p.mine);
    if (choice !== "mine") lines.push(...p.theirs);
  }
  return lines.join("\n");
}
