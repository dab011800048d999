import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Scope } from "../lib/api";
import { pathOf } from "../lib/scope";

interface Props {
  scope: Scope;
  /** The page below the scope, e.g. ["services", id]. */
  page: string[];
  search?: Record<string, string | undefined>;
  row?: boolean;
  current?: boolean;
  children: ReactNode;
}

/** addressOf is where a page of a scope is. The router knows the path of each scope by another name. */
export function addressOf(scope: Scope, page: string[]): "/executions" {
  return `${pathOf(scope)}/${page.map(encodeURIComponent).join("/")}` as "/executions";
}

/** Go leads to a page of a scope. */
export function Go({ scope, page, search = {}, row, current, children }: Props) {
  return (
    <Link
      to={addressOf(scope, page)}
      search={search}
      data-row={row || undefined}
      aria-current={current ? "page" : undefined}
      activeProps={{ "aria-current": current ? "page" : undefined }}
    >
      {children}
    </Link>
  );
}

/** useSet changes what the address chooses on the page, in the place of what it says now. */
export function useSet() {
  const navigate = useNavigate();
  return (change: Record<string, string | undefined>) =>
    void navigate({ to: ".", search: (s: object) => ({ ...s, ...change }) as object, replace: true });
}
