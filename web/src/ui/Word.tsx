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
};

/** Word is a state of GitOps, by its word and a colour. */
export function Word({ word }: { word?: string }) {
  if (!word) return null;
  return <span className={`status ${tones[word] ?? "neutral"}`}>{word}</span>;
}
