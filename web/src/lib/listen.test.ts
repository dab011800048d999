import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listen } from "./listen";

/** Sockets are those that were opened. */
let sockets: FakeSocket[];
let answer: () => Response;
let asked: string[];

class FakeSocket {
  onopen?: () => void;
  onmessage?: (m: { data: string }) => void;
  onclose: (() => void) | null = null;
  sent: string[] = [];
  closed = false;
  constructor(readonly url: string) {
    sockets.push(this);
  }
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.closed = true;
  }
}

const ticket = () => Response.json({ url: "wss://h/prod", ticket: "T1" });

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  asked = [];
  answer = ticket;
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (url: string, init: { method: string }) => {
    asked.push(`${init.method} ${url}`);
    return Promise.resolve(answer());
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** hearing listens to an execution and keeps what is told. */
async function hearing() {
  const told: string[] = [];
  const end = listen(
    "socket",
    { org: "o", project: "p", execution: "x1" },
    { hint: () => told.push("hint"), lost: (why) => told.push(why) },
  );
  await vi.advanceTimersByTimeAsync(0);
  return { told, end };
}

test("a ticket opens a socket, which tells at once and of each change", async () => {
  const { told } = await hearing();
  expect(asked).toEqual(["POST /v1/live/tickets?org=o&project=p&execution=x1"]);
  expect(sockets.map((s) => s.url)).toEqual(["wss://h/prod?ticket=T1"]);
  sockets[0]?.onopen?.();
  sockets[0]?.onmessage?.({ data: '{"executions":["x1"]}' });
  expect(told).toEqual(["hint", "hint"]);
});

test("a socket says something before it would be closed for its silence", async () => {
  const { end } = await hearing();
  sockets[0]?.onopen?.();
  await vi.advanceTimersByTimeAsync(9 * 60_000);
  expect(sockets[0]?.sent.length).toBeGreaterThan(0);
  end();
  const said = sockets[0]?.sent.length;
  await vi.advanceTimersByTimeAsync(30 * 60_000);
  expect(sockets[0]?.sent.length).toBe(said);
});

test("a socket that is closed is lost, once", async () => {
  const { told } = await hearing();
  sockets[0]?.onopen?.();
  sockets[0]?.onclose?.();
  sockets[0]?.onclose?.();
  expect(told).toEqual(["hint", "lost"]);
});

test("with the session hints are over", async () => {
  const { told } = await hearing();
  sockets[0]?.onopen?.();
  sockets[0]?.onmessage?.({ data: '{"executions":[],"bye":true}' });
  expect(told).toEqual(["hint", "over"]);
  expect(sockets[0]?.closed).toBe(true);
});

for (const [status, why] of [
  [401, "over"],
  [400, "later"],
  [403, "later"],
  [429, "later"],
  [503, "lost"],
] as const) {
  test(`without a ticket (${status}) it is ${why}`, async () => {
    answer = () => Response.json({ message: "no" }, { status });
    const { told } = await hearing();
    expect(told).toEqual([why]);
    expect(sockets).toEqual([]);
  });
}

test("who ends it hears nothing more, whenever that is", async () => {
  const told: string[] = [];
  const end = listen("socket", {}, { hint: () => told.push("hint"), lost: (why) => told.push(why) });
  end();
  await vi.advanceTimersByTimeAsync(0);
  const again = await hearing();
  sockets[0]?.onopen?.();
  again.end();
  expect(sockets[0]?.onclose).toBeNull();
  expect([...told, ...again.told]).toEqual(["hint"]);
});
