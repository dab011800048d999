import { useQuery } from "@tanstack/react-query";
import { call, type Schemas, type Scope } from "./api";

/**
 * useMay asks whether who is logged in may do something, e.g. entity.save. why is the reason against it in words;
 * undefined: nothing is known against it, and the server judges when it is done.
 */
export function useMay(scope: Scope, action: string, kind: string, id?: string): { why?: string; asked: boolean } {
  const { data, isPending } = useQuery({
    queryKey: ["may", scope, action, kind, id],
    queryFn: ({ signal }) =>
      call<Schemas["Permit"]>("/v1/access/can", { query: { ...scope, action, kind, id }, signal }),
    staleTime: 60_000,
  });
  if (!data || data.allowed) return { asked: !isPending };
  return { asked: true, why: `You may not: it needs the right ${data.missing.join(" or ") || action}` };
}
