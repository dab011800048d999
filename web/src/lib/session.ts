import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, Problem, type Whoami } from "./api";

/** whoami is the key of the query that useWhoami makes. */
export const whoami = "whoami";

const asked = {
  queryKey: [whoami],
  queryFn: ({ signal }: { signal: AbortSignal }) => call<Whoami>("/v1/whoami", { signal }),
  staleTime: 60_000,
};

/** askWho asks who is logged in while the page's own code is still loaded. */
export function askWho(queries: QueryClient) {
  void queries.prefetchQuery(asked);
}

/** useWhoami is who is logged in; its problem has the status 401 if nobody is. */
export function useWhoami() {
  return useQuery({ ...asked, refetchOnWindowFocus: true });
}

/** whenExpired has the page find out that the session is over when a request says so. */
export function whenExpired(queries: QueryClient, e: unknown) {
  if (e instanceof Problem && e.status === 401) void queries.invalidateQueries({ queryKey: [whoami] });
}

/** useExpired is whenExpired for what isn't a query: those are looked at where they are kept. */
export function useExpired() {
  const queries = useQueryClient();
  return (e: unknown) => whenExpired(queries, e);
}
