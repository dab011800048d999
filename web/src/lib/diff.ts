/** More lines than this are not compared one by one. */
const most = 2000;

/** diff writes how a text became another: lines that went with "-", those that came with "+", others with a blank. */
export function diff(before: string, after: string): string {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const mid = middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (lines: string[]) => lines.map((l) => ` ${l}`);
  return [...same(a.slice(0, head)), ...mid, ...same(a.slice(a.length - tail))].join("\n");
}

/** middle is diff by the longest common part. */
function middle(a: string[], b: string[]): string[] {
  if (a.length > most || b.length > most) return [...a.map((l) => `-${l}`), ...b.map((l) => `+${l}`)];
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i] as Uint16Array;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(` ${a[i++]}`);
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) out.push(`-${a[i++]}`);
    else out.push(`+${b[j++]}`);
  }
  return out;
}
