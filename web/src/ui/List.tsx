import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { call, type Query } from "../lib/api";
import { useSet } from "./Go";
import { Empty, Loading, ProblemCard } from "./states";
import { useRows } from "./useRows";

/** A column of a list: its heading, and what a row has in it. */
export type Column<T> = [string, (row: T) => ReactNode];

interface Props<A, T> {
  /** What the rows are, in the plural. */
  what: string;
  path: string;
  query?: Query;
  rows: (answer: A) => T[];
  id: (row: T) => string;
  /** What the filter looks at; without it there is none. */
  text?: (row: T) => string;
  columns: Column<T>[];
  /** What is said when there is nothing at all. */
  empty: ReactNode;
  /** What is chosen besides the text, in words, if anything is. */
  chosen?: string;
  /** Fields beside the filter. */
  fields?: ReactNode;
  more?: string;
  /** How often it is read anew, in milliseconds. */
  every?: number;
}

/** List is a list of the API: it is read page by page, filtered by the address, and gone through by keys. */
export function List<A extends { nextPageToken?: string }, T>(props: Props<A, T>) {
  const { what, path, query, rows, id, text, columns, empty, chosen, fields, more = "More", every } = props;
  const { q } = useSearch({ strict: false }) as { q?: string };
  const set = useSet();
  const list = useInfiniteQuery({
    queryKey: ["list", path, query],
    queryFn: ({ pageParam, signal }) => call<A>(path, { query: { limit: 50, ...query, pageToken: pageParam }, signal }),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextPageToken || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const { error } = list;
  const all = list.data?.pages.flatMap(rows) ?? [];
  const filter = text ? q : undefined;
  const shown = filter && text ? all.filter((r) => text(r).toLowerCase().includes(filter.toLowerCase())) : all;
  const none = list.data && all.length === 0 && !list.hasNextPage;
  return (
    <>
      {(text || fields) && (
        <search className="filters">
          {text && <Filter what={what} />}
          {fields}
        </search>
      )}
      {list.isPending && <Loading what={what} />}
      {error && !list.data && <ProblemCard problem={error} again={() => void list.refetch()} />}
      {error && list.data && <p role="status">The list may be old: {error.message}</p>}
      {none && (chosen ? <Empty>{`No ${what} match: ${chosen}.`}</Empty> : <Empty>{empty}</Empty>)}
      {filter && all.length > 0 && (
        <p className="faint" role="status">
          {shown.length} of the {all.length} {what} {list.hasNextPage ? "read so far " : ""}match {filter}.{" "}
          <button type="button" className="link" onClick={() => set({ q: undefined })}>
            Clear
          </button>
        </p>
      )}
      {shown.length > 0 && <Table rows={shown} id={id} columns={columns} busy={list.isPlaceholderData} />}
      {list.hasNextPage && (
        <button type="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {list.isFetchingNextPage ? "Reading…" : more}
        </button>
      )}
    </>
  );
}

/** Table shows rows; j and k go through their links with data-row. */
export function Table<T>(props: { rows: T[]; id: (row: T) => string; columns: Column<T>[]; busy?: boolean }) {
  const { rows, id, columns, busy } = props;
  const table = useRows();
  return (
    <div className="scroll">
      <table aria-busy={busy} ref={table}>
        <thead>
          <tr>
            {columns.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map(([name, cell]) => (
                <td key={name}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Filter puts what is typed into the address. */
function Filter({ what }: { what: string }) {
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const [typed, setTyped] = useState(q);
  const set = useSet();
  useEffect(() => setTyped(q), [q]);
  return (
    <label>
      Filter the {what}
      <input
        data-search
        type="search"
        value={typed}
        spellCheck={false}
        autoComplete="off"
        onChange={(e) => {
          const value = e.target.value;
          setTyped(value);
          set({ q: value || undefined });
        }}
      />
    </label>
  );
}

/** Choice is a field that chooses by the address; its first option is no choice. */
export function Choice({ name, label, options }: { name: string; label: string; options: [string, string][] }) {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const set = useSet();
  const value = search[name] ?? "";
  return (
    <label>
      {label}
      <select
        value={value}
        onChange={(e) => {
          const chosen = e.target.value || undefined;
          set({ [name]: chosen });
        }}
      >
        <option value="">All</option>
        {options.map(([v, word]) => (
          <option key={v} value={v}>
            {word}
          </option>
        ))}
        {value && !options.some(([v]) => v === value) && <option value={value}>{value}</option>}
      </select>
    </label>
  );
}

/** Field is a text that chooses by the address, when it is entered or left. */
export function Field({ name, label, type }: { name: string; label: string; type?: "date" }) {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const set = useSet();
  const enter = (text: string) => set({ [name]: text.trim() || undefined });
  return (
    <label>
      {label}
      <input
        key={search[name]}
        type={type}
        defaultValue={search[name]}
        spellCheck={false}
        autoComplete="off"
        onBlur={(e) => enter(e.target.value)}
        onKeyDown={(e) => e.key === "Enter" && enter(e.currentTarget.value)}
      />
    </label>
  );
}
