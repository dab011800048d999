import type { Scope } from "./api";
import { valueLiteral, wordLiteral } from "./patch";
import type { Schema } from "./schema";
import { at, listAt, textAt, type Value } from "./yaml";

/** A field of a form for a setting: its key within the setting's value, and the words that it may have. */
export interface Field {
  /** empty: it is the value itself */
  key: string;
  words?: string[];
  /** it is needed if the setting is set at all */
  required?: boolean;
}

/** What the form of a setting asks for: one value, several, or one for each key. */
export type Form = { fields: Field[]; many?: boolean };

/** formOf makes the form of a setting of what the schema says of it; undefined: it is more than a form can hold. */
export function formOf(schema: Schema, kind: string, name: string): Form | undefined {
  const of = variants(schema, schema.definitions?.[kind]?.properties?.[name] ?? {});
  if (of.some((s) => s.items)) {
    return of.some((s) => s.items && single(variants(schema, s.items)))
      ? { fields: [{ key: "" }], many: true }
      : undefined;
  }
  const mapping = of.find((s) => s.properties);
  if (!mapping) return single(of) ? { fields: [{ key: "", words: wordsOf(of), required: true }] } : undefined;
  const fields: Field[] = [];
  for (const [key, value] of Object.entries(mapping.properties ?? {})) {
    const inner = variants(schema, value);
    if (!single(inner)) return undefined;
    fields.push({ key, words: wordsOf(inner), required: mapping.required?.includes(key) });
  }
  const last = (f: Field) => (f.required ? 0 : 1);
  return { fields: fields.sort((a, b) => last(a) - last(b)) };
}

/** variants are what a value may be. */
function variants(root: Schema, s: Schema): Schema[] {
  const of = s.$ref ? (root.definitions?.[s.$ref.replace("#/definitions/", "")] ?? {}) : s;
  return of.anyOf || of.oneOf ? [...(of.anyOf ?? []), ...(of.oneOf ?? [])].flatMap((v) => variants(root, v)) : [of];
}

/** single says whether a value may be one word or text. */
const single = (of: Schema[]) =>
  of.some((s) => s.enum || [s.type ?? []].flat().some((t) => t === "string" || t === "boolean" || t === "integer"));

/** wordsOf are the words that a value may be one of; undefined: it may be anything. */
function wordsOf(of: Schema[]): string[] | undefined {
  const words = of.flatMap((s) => s.enum ?? []).map(String);
  if (words.length > 0) return words;
  const types = of.flatMap((s) => s.type ?? []).filter((t) => t !== "null");
  return types.includes("boolean") && !types.includes("number") ? ["true", "false"] : undefined;
}

/** given is what a form begins with: what the document says of a setting. */
export function given(form: Form, name: string, doc: Value): Record<string, string> {
  if (form.many) return { "": listAt(doc, name).map(String).join("\n") };
  return Object.fromEntries(
    form.fields.map(({ key }) => [key, key === "" ? textAt(doc, name) : textAt(at(doc, name), key)]),
  );
}

/** literalOf writes what a form has as YAML in one line; empty: it has nothing. */
export function literalOf(form: Form, values: Record<string, string>): string {
  const text = (key: string) => (values[key] ?? "").replaceAll("\r\n", "\n").trim();
  if (form.many) {
    const words = text("")
      .split(/[\n,]/)
      .map((w) => w.trim())
      .filter(Boolean);
    return words.length === 0 ? "" : `[${words.map(wordLiteral).join(", ")}]`;
  }
  if (form.fields[0]?.key === "") return text("") === "" ? "" : valueLiteral(text(""));
  const pairs = form.fields.filter(({ key }) => text(key) !== "").map(({ key }) => `${key}: ${wordLiteral(text(key))}`);
  return pairs.length === 0 ? "" : `{${pairs.join(", ")}}`;
}

/** scopeOf reads a scope as the API names it in settings: the account, and what is in it. */
export function scopeOf(name: string): Scope {
  const [, org, project] = name.split("/");
  return { org, project };
}
