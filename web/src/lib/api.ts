import type { components } from "../api.gen";

export type Schemas = components["schemas"];
export type Execution = Schemas["Execution"];
export type ExecutionList = Schemas["ExecutionList"];
export type ExecutionTree = Schemas["ExecutionTree"];
export type ExecutionChange = Schemas["ExecutionChange"];
export type Poll = Schemas["PollAgain"];
export type TreeNode = Schemas["TreeNode"];
export type Log = Schemas["Log"];
export type LogLine = Schemas["LogLine"];
export type Entity = Schemas["Entity"];
export type EntityList = Schemas["EntityList"];
export type InputSet = Schemas["InputSet"];
export type InputSetList = Schemas["InputSetList"];
export type PipelineInputs = Schemas["PipelineInputs"];
export type MergedInputs = Schemas["MergedInputs"];
export type StartExecution = Schemas["StartExecution"];
export type Question = Schemas["Question"];
export type Detail = Schemas["Detail"];
export type Plan = Schemas["Plan"];
export type Rehearsed = Schemas["Rehearsed"];
export type Waiting = Schemas["Waiting"];
export type WaitingList = Schemas["WaitingList"];
export type Retry = Schemas["Retry"];
export type Intervention = Schemas["Intervention"];
export type Marking = Schemas["Marking"];
export type Fire = Schemas["Fire"];
export type FireList = Schemas["FireList"];
export type Logins = Schemas["Logins"];
export type Whoami = Schemas["Whoami"];
export type Banner = Schemas["Banner"];
export type ProblemBody = Schemas["Problem"];

/** What a request failed with: the API's problem, or that there was no answer (status 0). */
export class Problem extends Error {
  readonly status: number;
  readonly body: ProblemBody | undefined;

  constructor(status: number, message: string, body?: ProblemBody) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** The scope of a page: empty means the account's own. */
export interface Scope {
  org?: string;
  project?: string;
}

export type Query = Record<string, string | number | boolean | string[] | undefined>;

/** address makes a path with a query of the values that there are. */
export function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    q.set(key, Array.isArray(value) ? value.join(",") : String(value));
  }
  const text = q.toString();
  return text ? `${path}?${text}` : path;
}

export interface Sent {
  method?: string;
  query?: Query;
  json?: unknown;
  yaml?: string;
  /** Bytes, as they are. */
  bytes?: Blob;
  key?: string;
  signal?: AbortSignal;
}

/** call asks the API, and throws a Problem for what isn't a success. */
export async function call<T>(path: string, sent: Sent = {}): Promise<T> {
  const headers: Record<string, string> = { "X-Slipway-Console": "1", Accept: "application/json" };
  let body: string | Blob | undefined;
  if (sent.yaml !== undefined) {
    headers["Content-Type"] = "application/yaml";
    body = sent.yaml;
  } else if (sent.bytes !== undefined) {
    headers["Content-Type"] = "application/octet-stream";
    body = sent.bytes;
  } else if (sent.json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(sent.json);
  }
  if (sent.key) headers["Idempotency-Key"] = sent.key;
  if (isIdle()) headers["X-Slipway-Idle"] = "1"; // what the page asks by itself holds no session
  let answer: Response;
  let text: string;
  try {
    const ask = () =>
      fetch(address(path, sent.query), {
        method: sent.method ?? "GET",
        headers,
        body,
        signal: sent.signal,
        credentials: "same-origin",
        redirect: "error",
      });
    answer = await ask();
    for (let tried = 1; tooSoon(answer) && tried < 4; tried++) {
      await rest(answer, sent.signal);
      answer = await ask();
    }
    text = await answer.text();
  } catch (e) {
    if (sent.signal?.aborted) throw e;
    throw new Problem(0, "The server can't be reached.");
  }
  if (answer.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  let problem: ProblemBody | undefined;
  try {
    problem = JSON.parse(text) as ProblemBody;
  } catch {
    // a proxy's page
  }
  throw new Problem(answer.status, problem?.message ?? `The server answered ${answer.status}.`, problem);
}

/** tooSoon says whether the server did nothing because its caller asks too often. */
const tooSoon = (a: Response) => a.status === 429 && a.headers.get("RateLimit-Remaining") === "0";

/** rest waits as long as the server says, and up to as long again. */
async function rest(a: Response, signal?: AbortSignal) {
  const pause = Math.min(Number(a.headers.get("Retry-After")) || 1, 10) * 1000;
  await new Promise((done) => setTimeout(done, pause * (1 + Math.random())));
  signal?.throwIfAborted();
}

let touched = Date.now();
for (const event of ["pointerdown", "pointermove", "keydown", "wheel"])
  globalThis.addEventListener?.(event, () => (touched = Date.now()), { passive: true, capture: true });

/** isIdle says whether nobody has touched the page for a minute. */
const isIdle = () => Date.now() - touched > 60_000;

/** part names a value within a path. */
export const part = encodeURIComponent;

/** newKey is one for a request that may be sent twice and is meant once. */
export function newKey(): string {
  return crypto.randomUUID();
}

/** save keeps a document that was made of the given version; 0: there must be none. */
export function save(scope: Scope, yaml: string, version: number): Promise<Schemas["SavedEntity"]> {
  return call("/v1/entities", { method: "PUT", query: { ...scope, version }, yaml });
}
