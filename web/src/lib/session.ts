import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call, Problem, type Whoami } from "./api";

/** useWhoami is who is logged in; its problem has the status 401 if nobody is. */
export function useWhoami() {
  return useQuery({
    queryKey: ["whoami"],
    queryFn: ({ signal }) => call<Whoami>("/v1/whoami", { signal }),
    staleTime: 60_000,
    refetchOnWindowFocus: true,
  });
}

/** useExpired has the page find out that the session is over when a request of its says so. */
export function useExpired() {
  const queries = useQueryClient();
  return (e: unknown) => {
    if (e instanceof Problem && e.status === 401) void queries.invalidateQueries({ queryKey: ["whoami"] });
  };
}
