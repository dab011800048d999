import { type FormEvent, memo, useId, useState } from "react";
import type { Item, List } from "../lib/outline";
import { add, type Edited, mentions, move, moveTo, type Path, remove, rename, set, textLiteral } from "../lib/patch";
import { type Schema, wordsAt } from "../lib/schema";
import { Modal } from "../ui/Modal";
import { Graph, keyOf } from "./Graph";

interface Props {
  text: string;
  lists: List[];
  /** The lists are of the text as it is now. */
  current: boolean;
  /** At which of them the cursor is in the text. */
  chosen: Item | undefined;
  show: (from: number, to: number) => void;
  /** Changes the text, and shows what is at a path then; or says why it doesn't. */
  apply: (edited: Edited, then?: Path) => void;
  findings: number[];
  schema: Schema | undefined;
  readOnly: boolean;
}

/**
 * Side is the graph beside the text, and the fields of what is chosen in it. Both change the text and nothing else. It is
 * drawn when something of it changes, not with each letter.
 */
export const Side = memo(function Side({
  text,
  lists,
  current,
  chosen,
  show,
  apply,
  findings,
  schema,
  readOnly,
}: Props) {
  const [adding, setAdding] = useState<{ list: List; after: number }>();
  const fixed = readOnly || !current;
  const choose = (i: Item) => show(i.from, i.to);
  const shift = (i: Item, by: number) => {
    const to = Number(i.path.at(-1)) + by;
    const list = listOf(lists, i);
    if (!fixed && list && to >= 0 && to < list.items.length)
      apply(move(text, i.path, to), [...i.path.slice(0, -1), to]);
  };
  const drop = (i: Item) => {
    if (!fixed) apply(remove(text, i.path));
  };
  const list = chosen && listOf(lists, chosen);
  const place = Number(chosen?.path.at(-1));
  return (
    <div className="side-pane">
      {!current && <p className="faint">The text has changed since.</p>}
      <Graph
        lists={lists}
        findings={findings}
        chosen={chosen && keyOf(chosen)}
        choose={choose}
        move={shift}
        remove={drop}
      />
      <div className="row">
        {chosen && list && (
          <>
            <button type="button" disabled={fixed || place === 0} onClick={() => shift(chosen, -1)}>
              Move up
            </button>
            <button type="button" disabled={fixed || place === list.items.length - 1} onClick={() => shift(chosen, 1)}>
              Move down
            </button>
            <button type="button" className="danger" disabled={fixed} onClick={() => drop(chosen)}>
              Delete
            </button>
            <button type="button" disabled={fixed} onClick={() => setAdding({ list, after: place })}>
              Add a {list.of} after it
            </button>
          </>
        )}
        {(chosen?.lists ?? lists).map((l) => (
          <button
            key={l.path.join(".")}
            type="button"
            disabled={fixed}
            onClick={() => setAdding({ list: l, after: -1 })}
          >
            Add a {l.of} first{l.title === "Rollback steps" && " on rollback"}
          </button>
        ))}
      </div>
      {chosen && list && !fixed && (
        <Into
          key={`into ${keyOf(chosen)}`}
          others={othersOf(lists, chosen, list)}
          move={(to) => apply(moveTo(text, chosen.path, to))}
        />
      )}
      {chosen && (
        <Fields key={keyOf(chosen) + chosen.identifier} item={chosen} text={text} apply={apply} fixed={fixed} />
      )}
      {adding && (
        <Add
          of={adding.list.of}
          schema={schema}
          close={() => setAdding(undefined)}
          add={(yaml) => {
            setAdding(undefined);
            apply(add(text, adding.list.path, adding.after, yaml), [...adding.list.path, adding.after + 1]);
          }}
        />
      )}
    </div>
  );
});

/** listOf is the list in which an item is. */
function listOf(lists: List[], item: Item): List | undefined {
  for (const l of lists) {
    if (l.items.includes(item)) return l;
    const found = listOf(
      l.items.flatMap((i) => i.lists),
      item,
    );
    if (found) return found;
  }
  return undefined;
}

/** A list that an item can be moved into, by the name of what has it. */
type Other = [name: string, path: Path];

/** othersOf are the lists of the same sort as an item's, but for its own and those within it. */
function othersOf(lists: List[], item: Item, own: List, owner = ""): Other[] {
  return lists.flatMap((l) => [
    ...(l.of === own.of && l !== own && l.items.length > 0
      ? [[[owner, l.title || "beside each other"].filter(Boolean).join(": "), l.path] as Other]
      : []),
    ...l.items.filter((i) => i !== item).flatMap((i) => othersOf(i.lists, item, own, i.name)),
  ]);
}

/** Into moves an item to the end of another list. */
function Into({ others, move }: { others: Other[]; move: (to: Path) => void }) {
  const [to, setTo] = useState(0);
  const chosen = others[to];
  if (!chosen) return null;
  return (
    <div className="row">
      <label>
        Move to the end of
        <select value={to} onChange={(e) => setTo(Number(e.target.value))}>
          {others.map(([name, path], n) => (
            <option key={path.join(".")} value={n}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={() => move(chosen[1])}>
        Move
      </button>
    </div>
  );
}

/** What every stage and every step can have, whether it has it or not. */
const always: Record<string, string[]> = {
  stage: ["name", "identifier", "description"],
  step: ["name", "identifier", "timeout"],
  stepGroup: ["name", "identifier"],
};

interface FieldsProps {
  item: Item;
  text: string;
  apply: (edited: Edited) => void;
  fixed: boolean;
}

/** Fields are the single values of an item. What has more than one, the text has. */
function Fields({ item, text, apply, fixed }: FieldsProps) {
  const names = always[item.kind] ?? [];
  const others = item.fields.filter((f) => f.path.length > 1 || !names.includes(f.path[0] ?? ""));
  const fields = [
    ...names.map((n) => item.fields.find((f) => f.path.length === 1 && f.path[0] === n) ?? { path: [n], value: "" }),
    ...others,
  ];
  const enter = (path: Path, before: string, value: string) => {
    if (fixed || value === before) return;
    const whole = [...item.body, ...path];
    const also = path.length === 1 && path[0] === "identifier" && before !== "" && mentions(text, before) > 0;
    apply(also ? rename(text, whole, before, value) : set(text, whole, value));
  };
  const count = item.identifier ? mentions(text, item.identifier) : 0;
  if (fields.length === 0) return null;
  return (
    <section className="stack" aria-label={`Fields of ${item.name}`}>
      {fields.map((f) => (
        <label key={f.path.join(".")} htmlFor={`field-${f.path.join(".")}`}>
          {f.path.join(".")}
          {f.path[0] === "identifier" && count > 0 && (
            <span className="faint"> ({count === 1 ? "an expression follows" : `${count} expressions follow`} it)</span>
          )}
          <One
            id={`field-${f.path.join(".")}`}
            value={f.value}
            readOnly={fixed}
            enter={(v) => enter(f.path, f.value, v)}
          />
        </label>
      ))}
    </section>
  );
}

/** One is a value that counts when it is entered or left; Escape takes back what was typed. */
function One({
  id,
  value,
  readOnly,
  enter,
}: {
  id: string;
  value: string;
  readOnly: boolean;
  enter: (value: string) => void;
}) {
  const [typed, setTyped] = useState<string>();
  const done = () => {
    if (typed !== undefined) enter(typed);
    setTyped(undefined);
  };
  const props = {
    id,
    value: typed ?? value,
    readOnly,
    spellCheck: false,
    autoComplete: "off",
    onChange: (e: { target: { value: string } }) => setTyped(e.target.value),
    onBlur: done,
  };
  if (value.includes("\n"))
    return <textarea className="code" rows={Math.min(12, value.split("\n").length + 1)} {...props} />;
  return (
    <input
      {...props}
      onKeyDown={(e) => {
        if (e.key === "Enter") done();
        if (e.key === "Escape") setTyped(undefined);
      }}
    />
  );
}

const steps = ["spec", "execution", "steps", "-", "step", "type"];

interface AddProps {
  of: "stage" | "step";
  schema: Schema | undefined;
  add: (yaml: string) => void;
  close: () => void;
}

/** Add asks what is to be added, and writes the least that it consists of. */
function Add({ of, schema, add, close }: AddProps) {
  const id = useId();
  const stage = ["pipeline", "stages", "-", "stage"];
  const types = schema ? wordsAt(schema, of === "stage" ? [...stage, "type"] : [...stage, ...steps]) : [];
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const [name = "", type = ""] = ["name", "type"].map((k) => String(form.get(k) ?? "").trim());
    add(of === "stage" ? newStage(name, type) : newStep(name, type));
  };
  return (
    <Modal title={`Add a ${of}`} close={close}>
      <form className="stack" onSubmit={submit}>
        <label>
          Name
          <input name="name" required maxLength={128} autoComplete="off" data-first />
        </label>
        <label>
          Type
          <input name="type" required list={id} autoComplete="off" spellCheck={false} />
        </label>
        <datalist id={id}>
          {types.map((t) => (
            <option key={t} value={t} />
          ))}
        </datalist>
        <div className="row">
          <button type="submit" className="primary">
            Add
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Modal>
  );
}

/** identifierOf is an identifier made of a name. */
function identifierOf(name: string): string {
  const made = name.replaceAll(/[^A-Za-z0-9_]+/g, "_").replaceAll(/^_+|_+$/g, "");
  return /^[A-Za-z_]/.test(made) ? made : `_${made}`;
}

const stepSpecs: Record<string, string> = {
  ShellScript: `  spec:
    shell: Bash
    onDelegate: true
    source:
      type: Inline
      spec:
        script: echo hello
`,
  Wait: "  spec:\n    duration: 1m\n",
  Http: "  spec:\n    url: https://example.com\n    method: GET\n",
};

function newStep(name: string, type: string): string {
  const head = `step:\n  name: ${textLiteral(name)}\n  identifier: ${identifierOf(name)}\n  type: ${textLiteral(type)}\n`;
  return `${head}  timeout: 10m\n${stepSpecs[type] ?? "  spec: {}\n"}`;
}

function newStage(name: string, type: string): string {
  const head = `stage:\n  name: ${textLiteral(name)}\n  identifier: ${identifierOf(name)}\n  type: ${textLiteral(type)}\n`;
  const first = newStep("First", "Wait")
    .trimEnd()
    .split("\n")
    .map((l, i) => `        ${i === 0 ? "- " : "  "}${l}\n`)
    .join("");
  return `${head}  spec:\n    execution:\n      steps:\n${first}`;
}
