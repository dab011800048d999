/** More lines than this are not compared one by one. */
const most = 2000;

/** diff writes how a text became another: lines that went with "-", those that came with "+", others with a blank. */
export function diff(before: string, after: string): string {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  const out: string[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of [...pairs(a, b), [a.length, b.length] as const]) {
    while (i < x) out.push(`-${a[i++]}`);
    while (j < y) out.push(`+${b[j++]}`);
    if (i < a.length) out.push(` ${a[i++]}`);
    j++;
  }
  return out.join("\n");
}

/** pairs are the lines that two texts have in common, as their places in both, in order. */
export function pairs(a: string[], b: string[]): [number, number][] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const mid = middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [
    ...Array.from({ length: head }, (_, i): [number, number] => [i, i]),
    ...mid.map(([i, j]): [number, number] => [head + i, head + j]),
    ...Array.from({ length: tail }, (_, i): [number, number] => [a.length - tail + i, b.length - tail + i]),
  ];
}

/** middle is pairs by the longest common part. */
function middle(a: string[], b: string[]): [number, number][] {
  if (a.length > most || b.length > most) return [];
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i] as Uint16Array;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) out.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return out;
}
