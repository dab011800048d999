/** A run of text of one look; colours are names of the theme, or rgb. */
export interface Span {
  text: string;
  classes: string;
  fg?: string;
  bg?: string;
  href?: string;
}

// What a terminal is told, longest first: SGR, links, other CSI and OSC, single escapes.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are made of
  /\u001b\[([0-9;:]*)m|\u001b\]8;[^;]*;([^\u0007\u001b]*)(?:\u0007|\u001b\\)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-_]?/g;
const bidi = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

interface Pen {
  on: Set<string>;
  fg?: string;
  bg?: string;
  href?: string;
}

const attributes: Record<number, string> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "strike",
};
const off: Record<number, string[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
};

/** spans splits a line of a log. What isn't a look, a link or text is left out, and no text is ever markup. */
export function spans(line: string): Span[] {
  const last = line.replace(/\r+$/, "").split("\r").pop() ?? ""; // a progress bar's last state
  const out: Span[] = [];
  const pen: Pen = { on: new Set() };
  let at = 0;
  const put = (text: string) => {
    if (!text) return;
    const shown = text.replace(bidi, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`);
    out.push({ text: shown, classes: [...pen.on].join(" "), fg: pen.fg, bg: pen.bg, href: pen.href });
  };
  for (const m of last.matchAll(escapes)) {
    put(last.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1] !== undefined) sgr(pen, m[1]);
    else if (m[2] !== undefined) pen.href = /^https?:\/\//i.test(m[2]) ? m[2] : undefined;
  }
  put(last.slice(at));
  return out;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with
const special = /[\u001b\r\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

/** plain is a line without its looks. Most lines have none, and a search goes through all of them. */
export function plain(line: string): string {
  if (!special.test(line)) return line;
  return spans(line)
    .map((s) => s.text)
    .join("");
}

function sgr(pen: Pen, codes: string) {
  const list = codes.split(/[;:]/).map((c) => (c === "" ? 0 : Number(c)));
  for (let i = 0; i < list.length; i++) {
    const c = list[i] ?? 0;
    if (c === 0) {
      pen.on.clear();
      pen.fg = pen.bg = undefined;
    } else if (attributes[c]) pen.on.add(attributes[c]);
    else if (off[c]) for (const name of off[c]) pen.on.delete(name);
    else if (c >= 30 && c <= 37) pen.fg = `c${c - 30}`;
    else if (c >= 90 && c <= 97) pen.fg = `c${c - 82}`;
    else if (c >= 40 && c <= 47) pen.bg = `c${c - 40}`;
    else if (c >= 100 && c <= 107) pen.bg = `c${c - 92}`;
    else if (c === 39) pen.fg = undefined;
    else if (c === 49) pen.bg = undefined;
    else if (c === 38 || c === 48) {
      const [colour, used] = extended(list.slice(i + 1));
      i += used;
      if (c === 38) pen.fg = colour;
      else pen.bg = colour;
    }
  }
}

function extended(rest: number[]): [string | undefined, number] {
  if (rest[0] === 5) {
    const n = rest[1] ?? 0;
    if (n < 16) return [`c${n}`, 2];
    if (n > 231) return [rgb(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10), 2];
    const level = (v: number) => (v === 0 ? 0 : 55 + v * 40);
    return [rgb(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6)), 2];
  }
  if (rest[0] === 2) return [rgb(rest[1] ?? 0, rest[2] ?? 0, rest[3] ?? 0), 4];
  return [undefined, 0];
}

function rgb(r: number, g: number, b: number): string {
  const byte = (v: number) => Math.max(0, Math.min(255, v || 0));
  return `rgb(${byte(r)} ${byte(g)} ${byte(b)})`;
}
