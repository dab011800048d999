const tones: Record<string, string> = {
  Synced: "good",
  Healthy: "good",
  Succeeded: "good",
  OutOfSync: "attention",
  Progressing: "info",
  Running: "info",
  Suspended: "attention",
  Missing: "attention",
  Degraded: "bad",
  Failed: "bad",
  Error: "bad",
  Active: "good",
  Paused: "attention",
  Failing: "bad",
  Passed: "good",
  Warned: "attention",
  Denied: "bad",
};

/** Word is a state, by its word and a colour. */
export function Word({ word }: { word?: string }) {
  if (!word) return null;
  return <span className={`status ${tones[word] ?? "neutral"}`}>{word}</span>;
}
