import { useSyncExternalStore } from "react";
import type { Scope } from "./api";

/** pathOf is where the pages of a scope are. */
export function pathOf(s: Scope): string {
  if (s.org && s.project) return `/o/${encodeURIComponent(s.org)}/p/${encodeURIComponent(s.project)}`;
  if (s.org) return `/o/${encodeURIComponent(s.org)}`;
  return "";
}

/** nameOf is how people call a scope. */
export function nameOf(s: Scope): string {
  if (s.project) return `${s.org} / ${s.project}`;
  return s.org ?? "Account";
}

const key = "scopes";

/** recent are the scopes that this browser has shown last, newest first. */
export function recent(): Scope[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    if (!Array.isArray(list)) return [];
    return list.filter((s): s is Scope => typeof s === "object" && s !== null).slice(0, 10);
  } catch {
    return [];
  }
}

/** useRecent is the one that was shown last. */
export function useRecent(): Scope | undefined {
  const text = useSyncExternalStore(
    (f) => {
      window.addEventListener("scopes", f);
      return () => window.removeEventListener("scopes", f);
    },
    () => localStorage.getItem(key),
  );
  return text ? recent()[0] : undefined;
}

/** remember puts a scope at the head of those. */
export function remember(s: Scope) {
  const rest = recent().filter((r) => r.org !== s.org || r.project !== s.project);
  localStorage.setItem(key, JSON.stringify([{ org: s.org, project: s.project }, ...rest].slice(0, 10)));
  window.dispatchEvent(new Event("scopes"));
}

/** listOf is where a list of a scope is, for links; the router knows the path of each scope by another name. */
export function listOf(s: Scope): "/executions" {
  return `${pathOf(s)}/executions` as "/executions";
}
