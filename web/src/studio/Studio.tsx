import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { call, type Detail, type Entity, Problem, part, type Schemas, type Scope, save } from "../lib/api";
import { diff } from "../lib/diff";
import { type Draft, drop, keep, kept } from "../lib/draft";
import { type Kind, listOf, pageOf } from "../lib/kinds";
import { useMay } from "../lib/may";
import { find, itemAt, type List } from "../lib/outline";
import { applied, type Edited, type Path } from "../lib/patch";
import type { Schema } from "../lib/schema";
import { nameOf } from "../lib/scope";
import { useExpired } from "../lib/session";
import { starter } from "../lib/starters";
import { useSettled } from "../lib/useSettled";
import { Diff } from "../ui/Diff";
import { capital, Head } from "../ui/Document";
import { addressOf } from "../ui/Go";
import { Modal } from "../ui/Modal";
import { Finding, ProblemCard } from "../ui/states";
import { completion, help } from "./complete";
import { Merge } from "./Merge";
import { Side } from "./Side";
import { Text, type TextHandle } from "./Text";
import { useOutline } from "./useOutline";

interface Props {
  scope: Scope;
  of: Kind;
  env?: string;
  /** The document as it is saved; none: a new one is begun. */
  saved?: Entity;
}

/** Where a text comes from: what was saved, as which version. A new document's version is 0. */
interface Base {
  text: string;
  version: number;
}

/**
 * Studio edits a document. Its text is all that there is: what else is shown is read from it, and what changes it writes
 * as little as it can.
 */
export function Studio({ scope, of, env, saved }: Props) {
  const id = saved?.id;
  const key = [scope.org ?? "", scope.project ?? "", of.kind, env ?? "", id ?? ""].join("/");
  const [first] = useState(() => beginning(kept(key), saved, () => starter(of.kind, of.one, scope, env)));
  const [base, setBase] = useState<Base>(first.base);
  const [text, setText] = useState(first.text);
  const editor = useRef<TextHandle>(null);
  const may = useMay(scope, "entity.save", of.kind, id);
  const checked = useChecked(scope, of, text, may.asked && !may.why);
  const graph = useOutline(text);
  const words = useWords(scope, of, graph.lists);
  const [at, setAt] = useState(0);
  const chosen = useMemo(() => itemAt(graph.lists ?? [], at), [graph.lists, at]);
  const dirty = text !== base.text;
  const draft = useDraft(key, base, text, dirty);
  const name = saved ? saved.name || saved.id : `New ${of.one}`;
  const saving = useSaving({ scope, of, env, id, base, text, checked, setBase, forget: () => drop(key) });
  const errors = checked.findings.filter((f) => f.severity !== "warning");
  const not = may.why ?? (saved && !dirty ? "Nothing has changed" : undefined);
  const ask = () => {
    if (not) saving.say(not);
    else if (errors[0]) {
      saving.say("It can't be saved like this.");
      editor.current?.goTo(errors[0].line ?? 1, errors[0].column ?? 1);
    } else if (skipsDifference()) void saving.send();
    else saving.ask();
  };
  const apply = (edited: Edited, then?: Path) => {
    if ("refused" in edited) {
      saving.say(`It stays as it is: ${edited.refused}`);
      return;
    }
    const next = applied(text, edited.change);
    editor.current?.apply(edited.change);
    const lists = graph.read(next) ?? [];
    const item = then && find(lists, then);
    if (item) editor.current?.select(item.from, item.to);
  };
  const latest = useRef(apply);
  latest.current = apply;
  const [beside] = useState(() => ({
    apply: (edited: Edited, then?: Path) => latest.current(edited, then),
    show: (from: number, to: number) => editor.current?.select(from, to),
  }));
  const places = useMemo(() => checked.findings.map((f) => offsetOf(graph.of, f)), [checked.findings, graph.of]);
  return (
    <main id="main">
      <Head
        above={[
          [`${capital(of.many)} of ${nameOf(scope)}`, listOf(of)],
          ...(id === undefined ? [] : [[name, pageOf(of, id, env)] as [string, string[]]]),
        ]}
        name={saved ? `Edit ${name}` : name}
      >
        <button type="button" className="primary" aria-disabled={Boolean(not) || errors.length > 0} onClick={ask}>
          {saving.busy ? "Saving…" : "Save"}
          {(not || errors.length > 0) && <span className="sr">: {not ?? "it has errors"}</span>}
        </button>
      </Head>
      <p className="facts" role="status">
        <span>{saving.said ?? (dirty ? "Not saved" : saved ? `Version ${base.version}` : "Not saved yet")}</span>
        <span>{checked.said}</span>
        {may.why && <span>{may.why}. It can be read here.</span>}
        {dirty && !draft && <span>This browser doesn't keep it: it looks as if it had a secret in it.</span>}
      </p>
      {first.draft && dirty && (
        <p className="row">
          <span>What you hadn't saved is here again.</span>
          <button type="button" onClick={() => editor.current?.replace(base.text)}>
            Drop it
          </button>
        </p>
      )}
      {saving.problem && <ProblemCard problem={saving.problem} />}
      <div className={graph.lists ? "panes" : undefined}>
        {graph.lists && (
          <Side
            {...beside}
            text={graph.of}
            lists={graph.lists}
            current={graph.current}
            chosen={chosen}
            findings={places}
            schema={words.schema}
            readOnly={may.why !== undefined}
          />
        )}
        <Text
          ref={editor}
          initial={first.text}
          label={`${name} as YAML`}
          readOnly={may.why !== undefined}
          findings={checked.findings}
          changed={setText}
          save={ask}
          complete={words.complete}
          help={words.help}
          moved={setAt}
        />
      </div>
      <p className="faint">
        <kbd>Ctrl S</kbd> saves, <kbd>F8</kbd> goes to the next finding, <kbd>Escape</kbd> and then <kbd>Tab</kbd>{" "}
        leaves the text.
      </p>
      <Findings of={checked.findings} editor={editor} />
      {saving.asked && (
        <Modal title={saving.other ? `Save it as a new ${of.one}?` : `Save ${name}?`} close={saving.cancel}>
          <Difference before={base.text} after={text} />
          {saving.other && <p>{saving.other}</p>}
          <SaveForm send={saving.send} cancel={saving.cancel} />
        </Modal>
      )}
      {saving.theirs && (
        <Merge
          base={base.text}
          mine={text}
          theirs={saving.theirs}
          take={(merged) => {
            setBase({ text: saving.theirs?.yaml ?? "", version: saving.theirs?.version ?? 0 });
            editor.current?.replace(merged);
            saving.merged();
          }}
          close={saving.merged}
        />
      )}
      <Leave dirty={dirty} forget={() => drop(key)} />
    </main>
  );
}

/** beginning is what the page begins with: what somebody left unsaved here, or what is saved. */
function beginning(draft: Draft | undefined, saved: Entity | undefined, fresh: () => string) {
  const base = { text: saved ? (saved.yaml ?? "") : fresh(), version: saved?.version ?? 0 };
  if (!draft || draft.text === base.text) return { base, text: base.text, draft: false };
  return { base: { text: draft.base, version: draft.version }, text: draft.text, draft: true };
}

/** useDraft keeps what isn't saved; false: it isn't kept. */
function useDraft(key: string, base: Base, text: string, dirty: boolean): boolean {
  const [fine, setFine] = useState(true);
  useEffect(() => {
    const write = () => {
      if (dirty) setFine(keep(key, { version: base.version, base: base.text, text }));
      else drop(key);
    };
    const t = setTimeout(write, 300); // a long text isn't written by the letter
    window.addEventListener("pagehide", write);
    return () => {
      clearTimeout(t);
      window.removeEventListener("pagehide", write);
    };
  }, [key, base, text, dirty]);
  return fine;
}

/** useWords is what the schema of a kind says at each place; nothing as long as it isn't there. */
function useWords(scope: Scope, of: Kind, lists: List[] | undefined) {
  const { data } = useQuery({
    queryKey: ["schema", of.kind],
    queryFn: ({ signal }) => call<Schema>(`/schema/${of.kind}.json`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const latest = useRef(data);
  latest.current = data;
  const outlined = useRef(lists);
  outlined.current = lists;
  const { org, project } = scope;
  return useMemo(
    () => ({
      complete: completion(
        { org, project },
        () => latest.current,
        () => outlined.current,
      ),
      help: help(() => latest.current),
      schema: data,
    }),
    [org, project, data],
  );
}

/** offsetOf is where in a text something was found. */
function offsetOf(text: string, f: Detail): number {
  let at = 0;
  for (let n = 1; n < (f.line ?? 1); n++) at = text.indexOf("\n", at) + 1;
  return at + (f.column ?? 1) - 1;
}

interface Checked {
  findings: Detail[];
  said: string;
  /** What saving the text would save; undefined while that isn't known. */
  would?: Schemas["SavedEntity"];
}

const none: Detail[] = [];

/** useChecked asks the server what is wrong with a text, when nobody has typed for a moment. */
function useChecked(scope: Scope, of: Kind, text: string, may: boolean): Checked {
  const settled = useSettled(text, 600);
  const check = useQuery({
    queryKey: ["checked", scope, of.kind, settled],
    queryFn: ({ signal }) =>
      call<Schemas["SavedEntity"]>("/v1/entities:validate", {
        method: "POST",
        query: { ...scope },
        yaml: settled,
        signal,
      }),
    enabled: may, // who may not save a document isn't told what saving it would do
    retry: false,
    gcTime: 0,
    placeholderData: (last) => last,
  });
  const { error } = check;
  const wrong = error instanceof Problem && error.status === 400 ? error : undefined;
  const [last, setLast] = useState<Detail[]>(none);
  const found = useMemo(() => {
    if (wrong) return wrong.body?.details?.length ? wrong.body.details : [{ message: wrong.message }];
    return check.data && !check.isPlaceholderData
      ? check.data.warnings.map((w) => ({ ...w, severity: "warning" }))
      : undefined;
  }, [wrong, check.data, check.isPlaceholderData]);
  useEffect(() => {
    if (found) setLast(found); // marks stay until the next answer
  }, [found]);
  const current = settled === text && !check.isFetching;
  if (!may) return { findings: none, said: "" };
  if (error && !wrong) return { findings: none, said: `It can't be checked: ${error.message}` };
  const findings = found ?? last;
  return {
    findings,
    said: current ? counted(findings) : "Checking…",
    would: current && !error && !check.isPlaceholderData ? check.data : undefined,
  };
}

/** counted says how many findings there are. */
function counted(findings: Detail[]): string {
  const warnings = findings.filter((f) => f.severity === "warning").length;
  const errors = findings.length - warnings;
  const words = [];
  if (errors > 0) words.push(errors === 1 ? "1 error" : `${errors} errors`);
  if (warnings > 0) words.push(warnings === 1 ? "1 warning" : `${warnings} warnings`);
  return words.join(", ") || "Nothing is wrong with it";
}

interface ToSave {
  scope: Scope;
  of: Kind;
  env?: string;
  id?: string;
  base: Base;
  text: string;
  checked: Checked;
  setBase: (base: Base) => void;
  forget: () => void;
}

/** useSaving saves the text as it is now, if what it was made from is still what is saved. */
function useSaving({ scope, of, env, id, base, text, checked, setBase, forget }: ToSave) {
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [said, say] = useState<string>();
  const [problem, setProblem] = useState<Error>();
  const [theirs, setTheirs] = useState<Entity>();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const expired = useExpired();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was said was about the text as it was
  useEffect(() => say(undefined), [text]);
  const would = checked.would;
  const renamed = id !== undefined && would && would.id !== id ? would.id : undefined;
  /** look reads what somebody else has saved meanwhile. */
  const look = async (id: string) => {
    try {
      setTheirs(await call<Entity>(`/v1/entities/${part(of.kind)}/${part(id)}`, { query: { ...scope, env } }));
    } catch (e) {
      const gone = e instanceof Problem && e.status === 404;
      if (gone) setBase({ text: "", version: 0 });
      setProblem(gone ? new Error("Somebody has deleted it meanwhile. Saving it again makes it anew.") : (e as Error));
    }
  };
  const send = async () => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    setAsked(false);
    try {
      const done = await save(scope, text, renamed ? 0 : base.version);
      forget();
      setBase({ text, version: done.version });
      say(`Saved as version ${done.version}`);
      void queries.invalidateQueries({ predicate: (q) => q.queryKey[0] !== "edited" && q.queryKey[0] !== "checked" });
      if (done.id !== id) {
        const search = { id: done.id, env: done.env ?? env } as object;
        await navigate({ to: addressOf(scope, ["edit", of.kind]), search, replace: true });
      }
    } catch (e) {
      expired(e);
      if (id !== undefined && e instanceof Problem && e.body?.code === "STALE_VERSION") await look(id);
      else setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  return {
    asked,
    busy,
    said,
    problem,
    theirs,
    merged: () => setTheirs(undefined),
    say,
    send,
    ask: () => setAsked(true),
    cancel: () => setAsked(false),
    other: renamed && `It is ${renamed} by now. ${id} stays as it is.`,
  };
}

const skips = "save without difference";
const skipsDifference = () => localStorage.getItem(skips) === "1";

/** SaveForm saves what was shown. */
function SaveForm({ send, cancel }: { send: () => void; cancel: () => void }) {
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        if (new FormData(e.currentTarget).has("skip")) localStorage.setItem(skips, "1");
        send();
      }}
    >
      <label className="check">
        <input type="checkbox" name="skip" />
        Save without asking from now on
      </label>
      <div className="row">
        <button type="submit" className="primary" data-first>
          Save
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Difference is what a save changes, with three lines around it. */
function Difference({ before, after }: { before: string; after: string }) {
  const shown = useMemo(() => {
    const lines = diff(before, after).split("\n");
    const near = new Set(
      lines.flatMap((l, i) => (l.startsWith(" ") ? [] : [-3, -2, -1, 0, 1, 2, 3].map((d) => i + d))),
    );
    return lines.flatMap((l, i) => (near.has(i) ? [l] : near.has(i - 1) ? [" ⋯"] : [])).join("\n");
  }, [before, after]);
  return <Diff text={shown} label="What changes" />;
}

/** Findings lists what is wrong; each leads to its place. */
function Findings({ of, editor }: { of: Detail[]; editor: RefObject<TextHandle | null> }) {
  if (of.length === 0) return null;
  return (
    <section aria-label="Findings">
      <h2>Findings</h2>
      <ul className="plain">
        {of.map((f) => (
          <li key={`${f.path} ${f.line} ${f.column} ${f.message}`}>
            <button type="button" className="link" onClick={() => editor.current?.goTo(f.line ?? 1, f.column ?? 1)}>
              {f.severity === "warning" ? "Warning: " : "Error: "}
              <Finding of={f} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Leave asks before a page is left whose text isn't saved. */
function Leave({ dirty, forget }: { dirty: boolean; forget: () => void }) {
  const latest = useRef(dirty);
  latest.current = dirty;
  const blocked = useBlocker({
    shouldBlockFn: ({ current, next }) => latest.current && current.pathname !== next.pathname,
    enableBeforeUnload: () => latest.current,
    withResolver: true,
  });
  if (blocked.status !== "blocked") return null;
  return (
    <Modal title="Leave without saving?" close={blocked.reset}>
      <p>What you have changed isn't saved.</p>
      <div className="row">
        <button type="button" className="primary" onClick={blocked.reset}>
          Stay
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => {
            forget();
            blocked.proceed();
          }}
        >
          Leave without saving
        </button>
      </div>
    </Modal>
  );
}
