/** How a status is shown: by a shape, a word and a tone, never by colour alone. */
export interface Look {
  shape: Shape;
  word: string;
  tone: "neutral" | "info" | "attention" | "good" | "bad" | "strong";
  counts: "pending" | "running" | "waiting" | "done" | "failed" | "aborted";
}

export type Shape =
  | "dotted"
  | "dots"
  | "ring"
  | "plug"
  | "hand"
  | "ask"
  | "pencil"
  | "stack"
  | "clock"
  | "bars"
  | "tick"
  | "tickbang"
  | "dash"
  | "cross"
  | "question"
  | "timeout"
  | "reject"
  | "slash";

const looks: Record<string, Look> = {
  NotStarted: { shape: "dotted", word: "Not started", tone: "neutral", counts: "pending" },
  Queued: { shape: "dots", word: "Queued", tone: "neutral", counts: "pending" },
  QueuedExecutionConcurrencyReached: {
    shape: "dots",
    word: "Queued (limit reached)",
    tone: "neutral",
    counts: "pending",
  },
  Running: { shape: "ring", word: "Running", tone: "info", counts: "running" },
  TaskWaiting: { shape: "plug", word: "Waiting for a delegate", tone: "info", counts: "running" },
  ApprovalWaiting: { shape: "hand", word: "Waiting for approval", tone: "attention", counts: "waiting" },
  InterventionWaiting: { shape: "ask", word: "Needs a decision", tone: "attention", counts: "waiting" },
  InputWaiting: { shape: "pencil", word: "Waiting for inputs", tone: "attention", counts: "waiting" },
  ResourceWaiting: { shape: "stack", word: "In line", tone: "info", counts: "waiting" },
  WaitStepRunning: { shape: "clock", word: "Waiting (timer)", tone: "info", counts: "running" },
  Pausing: { shape: "bars", word: "Pausing", tone: "attention", counts: "waiting" },
  Paused: { shape: "bars", word: "Paused", tone: "attention", counts: "waiting" },
  Success: { shape: "tick", word: "Succeeded", tone: "good", counts: "done" },
  IgnoreFailed: { shape: "tickbang", word: "Succeeded, failure ignored", tone: "good", counts: "done" },
  Skipped: { shape: "dash", word: "Skipped", tone: "neutral", counts: "done" },
  Failed: { shape: "cross", word: "Failed", tone: "bad", counts: "failed" },
  Errored: { shape: "question", word: "Errored (couldn't find out)", tone: "bad", counts: "failed" },
  Expired: { shape: "timeout", word: "Timed out", tone: "bad", counts: "failed" },
  ApprovalRejected: { shape: "reject", word: "Rejected", tone: "bad", counts: "failed" },
  Aborted: { shape: "slash", word: "Aborted", tone: "strong", counts: "aborted" },
  AbortedByFreeze: { shape: "slash", word: "Stopped by a freeze", tone: "strong", counts: "aborted" },
};

/** lookOf is how a status is shown; one of a newer server is its own word. */
export function lookOf(status: string): Look {
  return looks[status] ?? { shape: "dotted", word: status, tone: "neutral", counts: "pending" };
}

export const statuses = Object.keys(looks);

/** ended says whether nothing more will happen to what has the status. */
export function ended(status: string): boolean {
  return ["done", "failed", "aborted"].includes(lookOf(status).counts);
}
