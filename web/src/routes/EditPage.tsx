import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { call, type Entity, part } from "../lib/api";
import { kindOf } from "../lib/kinds";
import { usePlace } from "../ui/Document";
import { Awaited } from "../ui/states";
import { NotFound } from "./NotFound";

// The editor is larger than all else together: no other page loads it.
const Studio = lazy(() => import("../studio/Studio").then((m) => ({ default: m.Studio })));

/** EditPage edits a document, or begins a new one if the address names none. */
export function EditPage() {
  const { scope, params } = usePlace();
  const { id, env } = useSearch({ strict: false }) as { id?: string; env?: string };
  const kind = params.kind ?? "";
  const of = kindOf(kind);
  const saved = useQuery({
    queryKey: ["edited", kind, scope, env, id],
    queryFn: ({ signal }) =>
      call<Entity>(`/v1/entities/${part(kind)}/${part(id ?? "")}`, { query: { ...scope, env }, signal }),
    enabled: of !== undefined && id !== undefined,
    // The editor has the text from now on; what others save meanwhile it finds when it saves.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (!of) return <NotFound />;
  if (id !== undefined && !saved.data) {
    return <Awaited title={id} what={`the ${of.one}`} problem={saved.error} again={() => void saved.refetch()} />;
  }
  return (
    <Suspense
      fallback={<Awaited title={id ?? `New ${of.one}`} what="the editor" problem={undefined} again={() => {}} />}
    >
      <Studio key={`${kind} ${id} ${env}`} scope={scope} of={of} env={env} saved={saved.data} />
    </Suspense>
  );
}
