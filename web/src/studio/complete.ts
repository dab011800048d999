import {
  type Completion,
  type CompletionContext,
  type CompletionSource,
  snippetCompletion,
} from "@codemirror/autocomplete";
import type { EditorView, Tooltip } from "@codemirror/view";
import { call, type EntityList, type Scope } from "../lib/api";
import { expressions, typedAt } from "../lib/expressions";
import type { List } from "../lib/outline";
import { helpAt, placeAt, proposals, type Schema } from "../lib/schema";

/** Of which kind is what keys name by its identifier. */
const kinds: Record<string, string> = {
  connectorRef: "connector",
  serviceRef: "service",
  environmentRef: "environment",
  templateRef: "template",
  pipelineIdentifier: "pipeline",
  tokenRef: "secret",
  passwordRef: "secret",
  secretRef: "secret",
};

/** linesTo are the lines of a text, and where in them a place is. */
function linesTo(state: CompletionContext["state"], pos: number): [string[], number, number] {
  const at = state.doc.lineAt(pos);
  return [state.doc.toString().split("\n"), at.number - 1, pos - at.from];
}

/**
 * completion proposes the keys and words of the schema, the names of what is saved in the scope, and after <+ the
 * expressions that a document has room for.
 */
export function completion(
  scope: Scope,
  schema: () => Schema | undefined,
  lists: () => List[] | undefined,
): CompletionSource {
  const names = new Map<string, Promise<Completion[]>>();
  const saved = (kind: string) => {
    const known = names.get(kind) ?? namesOf(scope, kind);
    names.set(kind, known);
    return known;
  };
  return async (c) => {
    const typed = typedAt(c.state.doc.lineAt(c.pos).text.slice(0, c.pos - c.state.doc.lineAt(c.pos).from));
    if (typed !== undefined) {
      const end = c.state.sliceDoc(c.pos, c.pos + 1) === ">" ? "" : ">";
      const options = expressions(lists() ?? []).map((e) => ({
        label: e.label,
        detail: e.about,
        apply: e.label + end,
      }));
      const secrets = (await saved("secret")).map((s) => ({
        label: `secrets.getValue("${s.label}")`,
        detail: s.detail,
        apply: `secrets.getValue("${s.label}")${end}`,
      }));
      return { from: c.pos - typed.length, options: [...options, ...secrets], validFor: /^[\w.]*$/ };
    }
    const root = schema();
    const [lines, line, column] = linesTo(c.state, c.pos);
    const place = root && placeAt(lines, line, column);
    if (!root || !place || (place.typed === "" && !c.explicit && place.key === undefined)) return null;
    const options = proposals(root, lines, place).map((p): Completion => {
      const rest = { detail: p.detail, info: p.help || undefined };
      if (place.key !== undefined) return { label: p.label, ...rest };
      // A list's item and a mapping's key begin two columns further right, on a line of their own.
      return snippetCompletion(`${p.label}:${p.opens ? "\n\t#{}" : " #{}"}`, { label: p.label, ...rest });
    });
    const kind = place.key && kinds[place.key];
    if (kind) options.push(...(await saved(kind)));
    return { from: c.pos - place.typed.length, options, validFor: /^[\w.$@-]*$/ };
  };
}

/** namesOf are the identifiers of what a scope has of a kind, as documents of it name them; none if they can't be read. */
async function namesOf(scope: Scope, kind: string): Promise<Completion[]> {
  const around: [string, Scope][] = [["account.", {}]];
  if (scope.org) around.unshift(["org.", { org: scope.org }]);
  const own: [string, Scope] = ["", scope];
  const places = scope.project
    ? [own, ...around]
    : scope.org
      ? [["org.", scope] as typeof own, ["account.", {}] as typeof own]
      : around;
  const lists = await Promise.all(
    places.map(async ([prefix, s]): Promise<Completion[]> => {
      try {
        const list = await call<EntityList>(`/v1/entities/${kind}`, { query: { ...s, limit: 200 } });
        return list.entities.map((e) => ({ label: prefix + e.id.replace(/@.*$/, ""), detail: e.name }));
      } catch {
        return [];
      }
    }),
  );
  return [...new Map(lists.flat().map((c) => [c.label, c])).values()];
}

/** help shows what the schema says of the key that the pointer is at. */
export function help(schema: () => Schema | undefined) {
  return (view: EditorView, pos: number): Tooltip | null => {
    const root = schema();
    const [lines, line, column] = linesTo(view.state, pos);
    const key = /^[\s-]*["']?[\w.$-]+/.exec(lines[line] ?? "")?.[0] ?? "";
    const text = root && column <= key.length ? helpAt(root, lines, line) : undefined;
    if (!text) return null;
    const from = view.state.doc.lineAt(pos).from;
    return {
      pos: from + (/\S/.exec(key)?.index ?? 0),
      end: from + key.length,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "cm-help";
        dom.textContent = text;
        return { dom };
      },
    };
  };
}
