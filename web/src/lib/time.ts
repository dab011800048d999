/** duration is a time in the form 1h 02m, 1m 03s, 4s or 120ms. */
export function duration(ms: number): string {
  if (ms < 0) return "0s";
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const s = Math.floor(ms / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d ${two(Math.floor((s % 86_400) / 3600))}h`;
}

/** between is how long something has taken, or takes by now. */
export function between(from: string | undefined, to: string | undefined, now: number): string {
  if (!from) return "";
  return duration((to ? Date.parse(to) : now) - Date.parse(from));
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** ago is how long ago something was, in words. */
export function ago(at: string, now: number): string {
  const ms = Date.parse(at) - now;
  for (const [unit, size] of units) {
    if (Math.abs(ms) >= size) {
      return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.trunc(ms / size), unit);
    }
  }
  return "just now";
}

/** exact is a time to the second in the reader's zone. */
export function exact(at: string): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
}
