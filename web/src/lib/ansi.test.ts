import { expect, test } from "vitest";
import { plain, spans } from "./ansi";

const esc = "\u001b";

test("looks become spans, and nothing else of a terminal's language is left", () => {
  expect(spans(`a${esc}[1;31mb${esc}[0mc`)).toEqual([
    { text: "a", classes: "" },
    { text: "b", classes: "bold", fg: "c1" },
    { text: "c", classes: "" },
  ]);
  expect(spans(`${esc}[38;5;196mx${esc}[48;2;1;2;300my`)).toEqual([
    { text: "x", classes: "", fg: "rgb(255 0 0)" },
    { text: "y", classes: "", fg: "rgb(255 0 0)", bg: "rgb(1 2 255)" },
  ]);
  expect(plain(`${esc}[2J${esc}]0;title\u0007${esc}[5Cx${esc}(B${esc}`)).toBe("x(B");
  expect(spans(`${esc}[4mu${esc}[24mn`).map((s) => s.classes)).toEqual(["underline", ""]);
});

test("a progress bar shows its last state, and characters that turn text round are named", () => {
  expect(plain("1%\r50%\r100%\r")).toBe("100%");
  expect(plain("safe\u202eexe.txt")).toBe("safe[U+202E]exe.txt");
});

test("links lead to the web alone", () => {
  const link = (to: string) => spans(`${esc}]8;;${to}${esc}\\text${esc}]8;;${esc}\\`)[0];
  expect(link("https://example.com")?.href).toBe("https://example.com");
  expect(link("javascript:alert(1)")).toEqual({ text: "text", classes: "" });
  expect(link("data:text/html,x")?.href).toBeUndefined();
});

test("whatever a line holds, its text is kept", () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  const pieces = ["<b>", "&amp;", "\u001b[", "\u001b]8;;", "m", ";", "31", "\u0007", "\u001b\\", "x", "\r", "é", "😀"];
  for (let i = 0; i < 500; i++) {
    const line = Array.from({ length: random(20) }, () => pieces[random(pieces.length)]).join("");
    const text = plain(line);
    expect(text.includes("\u001b") || text.includes("\r")).toBe(false);
    expect(
      spans(text)
        .map((s) => s.text)
        .join(""),
    ).toBe(text);
  }
});
