/** How far back a list can go: a word of the address, what it is called, and milliseconds. */
export const sinces: [string, string, number][] = [
  ["", "Ever", 0],
  ["1h", "The last hour", 3_600_000],
  ["24h", "The last 24 hours", 86_400_000],
  ["7d", "The last 7 days", 604_800_000],
];

/** The statuses of what runs, of what waits for a person and of what has failed, as a filter names them. */
export const running = "Running,TaskWaiting,WaitStepRunning,Queued,QueuedExecutionConcurrencyReached,ResourceWaiting";
const waiting = "ApprovalWaiting,InterventionWaiting,InputWaiting,Pausing,Paused";
export const failed = "Failed,Errored,Expired,ApprovalRejected";

/** The statuses that a filter can name: those that an execution itself has. */
export const groups: [string, string][] = [
  [running, "Running or queued"],
  [waiting, "Waiting for somebody"],
  [failed, "Failed"],
  ["Success,IgnoreFailed,Skipped", "Succeeded"],
  ["Aborted,AbortedByFreeze", "Aborted"],
];

/** begin is the time that a word such as 24h stands for, to the minute so that it stays the same for a while. */
export function begin(since: string | undefined): string | undefined {
  const found = sinces.find(([word]) => word === since);
  return found?.[2] ? new Date(Math.floor((Date.now() - found[2]) / 60_000) * 60_000).toISOString() : undefined;
}
