import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { call, type Entity, type EntityList, part, type Scope } from "../lib/api";
import { type Kind, kindOf, listOf, pageOf } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { hasStarter } from "../lib/starters";
import { read, type Value } from "../lib/yaml";
import { Delete } from "./Delete";
import { Edit } from "./Edit";
import { Facts } from "./Facts";
import { Go, useSet } from "./Go";
import { List } from "./List";
import { Awaited, Copy, Title } from "./states";
import { Tabs } from "./Tabs";
import { Ago } from "./Time";
import { Yaml } from "./Yaml";

/** usePlace is the scope of a page, and what else its address names. */
export function usePlace(): { scope: Scope; params: Record<string, string> } {
  const params = useParams({ strict: false }) as Record<string, string>;
  return { scope: { org: params.org, project: params.project }, params };
}

/** Documents lists the documents of a kind. */
export function Documents(props: {
  of: Kind;
  env?: string;
  /** Where a document's page is, below the scope. */
  page?: (e: Entity) => string[];
  columns?: [string, (e: Entity) => ReactNode][];
  /** The list has the documents themselves, for its columns. */
  documents?: boolean;
  empty?: ReactNode;
}) {
  const { of, env, columns = [], documents, page = (e) => pageOf(of, e.id, e.env) } = props;
  const { scope } = usePlace();
  const empty = (
    <>
      <p>No {of.one} is saved here yet. To save one from a file:</p>
      <pre>{`slipway apply -f ${of.one.replaceAll(" ", "-")}.yaml`}</pre>
    </>
  );
  return (
    <>
      {hasStarter(of.kind) && (
        <div className="row">
          <span className="grow" />
          <Edit scope={scope} of={of} env={env} />
        </div>
      )}
      <List<EntityList, Entity>
        what={of.many}
        path={`/v1/entities/${of.kind}`}
        query={{ ...scope, env, documents }}
        rows={(a) => a.entities}
        id={(e) => `${e.env} ${e.id}`}
        text={(e) => `${e.name} ${e.id} ${e.env ?? ""}`}
        empty={props.empty ?? empty}
        columns={[
          [
            "Name",
            (e) => (
              <>
                <Go scope={scope} page={page(e)} row>
                  {e.name || e.id}
                </Go>{" "}
                {e.name && e.name !== e.id && <code className="faint">{e.id}</code>}
              </>
            ),
          ],
          ...columns,
          ["Saved", (e) => <Ago at={e.updatedAt} />],
          ["By", (e) => e.updatedBy],
          ["Version", (e) => e.version],
        ]}
      />
    </>
  );
}

/** documentOf is what a document says, below the key of its kind. */
export function documentOf(e: Entity): Value {
  const root = read(e.yaml ?? "");
  return typeof root === "object" && root !== null && !Array.isArray(root) ? root[e.kind] : undefined;
}

/** capital begins a word with a capital letter. */
export const capital = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`;

/** DocumentsPage is the page with the list of a kind. */
export function DocumentsPage(props: Parameters<typeof Documents>[0] & { above?: ReactNode; children?: ReactNode }) {
  const { scope } = usePlace();
  const { many } = props.of;
  return (
    <main id="main">
      {props.above}
      <Title text={capital(many)} />
      <p className="faint">of {nameOf(scope)}</p>
      {props.children}
      <Documents {...props} />
    </main>
  );
}

/** A part of a page: its name in the address, its title and what it shows. */
export type Part = [string, string, () => ReactNode];

/** Parts shows one of several parts of a page: the first, if the address doesn't say which. */
export function Parts({ parts }: { parts: Part[] }) {
  const search = useSearch({ strict: false }) as { tab?: string };
  const set = useSet();
  const first = parts[0];
  const chosen = parts.find(([id]) => id === search.tab) ?? first;
  if (!first || !chosen) return null;
  return (
    <Tabs
      label="Parts of this page"
      tabs={parts.map(([id, name]) => [id, name] as const)}
      at={chosen[0]}
      go={(tab) => set({ tab: tab === first[0] ? undefined : tab, q: undefined })}
    >
      <Fragment key={chosen[0]}>{chosen[2]()}</Fragment>
    </Tabs>
  );
}

/** useDocument reads a document. */
export function useDocument(of: Kind, id: string, env?: string) {
  const { scope } = usePlace();
  return useQuery({
    queryKey: ["document", of.kind, scope, env, id],
    queryFn: ({ signal }) => call<Entity>(`/v1/entities/${of.kind}/${part(id)}`, { query: { ...scope, env }, signal }),
  });
}

/** Head is the top of a thing's page: where it is, what it is called, and what can be done with it. */
export function Head(props: { above: [string, string[]][]; name: string; children?: ReactNode; id?: string }) {
  const { scope } = usePlace();
  return (
    <header className="head">
      <nav aria-label="Where this is" className="crumbs">
        {props.above.map(([name, page]) => (
          <Go key={page.join("/")} scope={scope} page={page}>
            {name}
          </Go>
        ))}
      </nav>
      <div className="row">
        <Title text={props.name} />
        {props.id && props.id !== props.name && <code className="faint">{props.id}</code>}
        <span className="grow" />
        {props.children}
      </div>
    </header>
  );
}

interface PageProps {
  of: Kind;
  id: string;
  env?: string;
  /** The pages above it, if they aren't the list of its kind. */
  above?: [string, string[]][];
  facts?: (doc: Value, e: Entity) => [string, ReactNode][];
  actions?: (doc: Value, e: Entity, again: () => void) => ReactNode;
  /** Its parts before the document itself. */
  parts?: (doc: Value, e: Entity) => Part[];
}

/** DocumentPage shows a document, with what else is known of the thing that it describes. */
export function DocumentPage({ of, id, env, above, facts, actions, parts }: PageProps) {
  const { scope } = usePlace();
  const { data, error, refetch } = useDocument(of, id, env);
  if (!data) {
    return <Awaited title={id} what={`the ${of.one}`} rows={10} problem={error} again={() => void refetch()} />;
  }
  const doc = documentOf(data);
  const text = data.yaml ?? "";
  return (
    <main id="main">
      <Head above={above ?? [[`${capital(of.many)} of ${nameOf(scope)}`, listOf(of)]]} name={data.name || id} id={id}>
        {actions?.(doc, data, () => void refetch())}
        {kindOf(of.kind) && (
          <>
            <Edit scope={scope} of={of} id={data.id} env={env} />
            <Delete scope={scope} of={of} id={data.id} env={env} version={data.version} />
          </>
        )}
      </Head>
      <Facts
        facts={[
          ...(facts?.(doc, data) ?? []),
          [
            "Saved",
            <span key="saved">
              <Ago at={data.updatedAt} /> by {data.updatedBy}, version {data.version}
            </span>,
          ],
        ]}
      />
      <Parts
        parts={[
          ...(parts?.(doc, data) ?? []),
          [
            "document",
            "Document",
            () => (
              <>
                <Copy text={text}>Copy the document</Copy>
                <Yaml text={text} label="The document" />
              </>
            ),
          ],
        ]}
      />
    </main>
  );
}
