import { expect, test } from "vitest";
import source from "../../../pkg/plan/status.go?raw";
import { address } from "./api";
import { joined, mostLines } from "./log";
import { nameOf, pathOf } from "./scope";
import { ended, lookOf, statuses } from "./status";
import { ago, between, duration } from "./time";

test("every status of the API has its look", () => {
  const all = [...source.matchAll(/^\s+(\w+)\s+Status = "(\w+)"/gm)].map((m) => m[2]);
  expect(all.length).toBeGreaterThan(10);
  for (const status of all) expect(statuses, status).toContain(status);
  expect(lookOf("Newer")).toMatchObject({ word: "Newer", tone: "neutral" });
  expect([ended("Failed"), ended("Aborted"), ended("ApprovalWaiting"), ended("NotStarted")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("times are short and say their units", () => {
  expect([0, 999, 4000, 63_000, 3_725_000, 90_000_000].map(duration)).toEqual([
    "0ms",
    "999ms",
    "4s",
    "1m 03s",
    "1h 02m",
    "1d 01h",
  ]);
  expect(between(undefined, undefined, 0)).toBe("");
  expect(between("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z", 0)).toBe("5s");
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect([
    ago("2026-01-01T23:59:40Z", now),
    ago("2026-01-01T23:00:00Z", now),
    ago("2026-01-01T00:00:00Z", now),
  ]).toEqual(["just now", "1 hour ago", "yesterday"]);
});

test("scopes have paths, whatever they are called", () => {
  expect([pathOf({}), pathOf({ org: "a" }), pathOf({ org: "a", project: "b/c" })]).toEqual([
    "",
    "/o/a",
    "/o/a/p/b%2Fc",
  ]);
  expect([nameOf({}), nameOf({ org: "a" }), nameOf({ org: "a", project: "b" })]).toEqual(["Account", "a", "a / b"]);
});

test("an address has what is given alone", () => {
  expect(address("/v1/x", { a: undefined, b: "", c: [], d: 0, e: ["x", "y"], f: "a&b" })).toBe(
    "/v1/x?d=0&e=x%2Cy&f=a%26b",
  );
});

test("a browser keeps the last lines of a log, and knows how many it doesn't", () => {
  const line = (m: string) => ({ t: 0, m });
  const part = (lines: { t: number; m: string }[]) => ({
    node: "n",
    attempt: 1,
    attempts: 1,
    lines,
    next: 0,
    ended: false,
  });
  let log = joined(
    { lines: [], dropped: 0, before: 0, attempt: 0, attempts: 0, ended: false, loaded: false, reading: false },
    part(Array.from({ length: mostLines }, (_, i) => line(String(i)))),
  );
  expect(log).toMatchObject({ dropped: 0, loaded: false });
  log = joined(log, part([line("a"), line("b")]));
  expect(log).toMatchObject({ dropped: 2 });
  expect(log.lines.length).toBe(mostLines);
  expect([log.lines[0]?.m, log.lines.at(-1)?.m]).toEqual(["2", "b"]);
});
