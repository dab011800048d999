import { expect, test } from "vitest";
import { applied, assign, unset } from "./patch";
import type { Schema } from "./schema";
import { formOf, given, literalOf } from "./settings";
import { read } from "./yaml";

const text = { type: ["string", "number", "boolean"] };
const schema: Schema = {
  definitions: {
    setting: {
      properties: {
        lasts: { anyOf: [text, { type: "null" }] },
        allow: { anyOf: [{ type: ["boolean", "string"] }, { type: "null" }] },
        domains: { anyOf: [{ type: "array", items: text }, { type: "null" }] },
        banner: { anyOf: [{ $ref: "#/definitions/banner" }, { type: "string" }, { type: "null" }] },
        rules: { type: "array", items: { properties: { a: text } } },
        deep: { properties: { a: { properties: { b: text } } } },
      },
    },
    banner: {
      properties: { level: { anyOf: [{ enum: ["info", "error"] }, { type: "null" }] }, text, to: text },
      required: ["text"],
    },
  },
};

const doc = read(
  "banner: {text: 'Down: on Sunday', level: error}\ndomains: [a.com, b.com]\nlasts: 90d\nallow: false\n",
);

test.each([
  ["lasts", ["", undefined], { "": "90d" }, "90d"],
  ["allow", ["", ["true", "false"]], { "": "false" }, "false"],
  ["domains", ["", undefined], { "": "a.com\nb.com" }, "[a.com, b.com]"],
  [
    "banner",
    ["text", undefined],
    { text: "Down: on Sunday", level: "error", to: "" },
    '{text: "Down: on Sunday", level: error}',
  ],
] as const)("a form of %s has what the document says, and writes it again", (name, first, values, literal) => {
  const form = formOf(schema, "setting", name);
  expect(form).toBeDefined();
  if (!form) return;
  expect([form.fields[0]?.key, form.fields[0]?.words]).toEqual(first);
  expect(given(form, name, doc)).toEqual(values);
  expect(literalOf(form, values)).toBe(literal);
});

test.each(["rules", "deep"])("%s is more than a form can hold", (name) => {
  expect(formOf(schema, "setting", name)).toBeUndefined();
});

test("several lines, commas and words of YAML stay what was typed", () => {
  const banner = formOf(schema, "setting", "banner");
  const domains = formOf(schema, "setting", "domains");
  if (!banner || !domains) throw new Error("no form");
  const typed = 'One, two\r\n# "three" }';
  const literal = literalOf(banner, { text: typed });
  expect(read(`banner: ${literal}`)).toEqual({ banner: { text: 'One, two\n# "three" }' } });
  expect(literalOf(domains, { "": " a.com,\nb.com\n" })).toBe("[a.com, b.com]");
  expect(literalOf(domains, { "": " \n," })).toBe("");
  expect(literalOf(banner, { text: " " })).toBe("");
});

const saved = `# ours
setting:
  identifier: settings
  # people asked for this
  banner:
    text: x # why
    level: info

  domains:
  - a.com
  - b.com
  lasts: 90d # a quarter
`;

test.each([
  ["lasts", "30d", saved.replace("90d", "30d")],
  ["domains", "[c.com]", saved.replace("domains:\n  - a.com\n  - b.com", "domains: [c.com]")],
  ["banner", "{text: y}", saved.replace("banner:\n    text: x # why\n    level: info\n", "banner: {text: y}\n")],
  ["allow", "false", `${saved}  allow: false\n`],
])("assign changes %s and nothing else", (key, literal, want) => {
  const made = assign(saved, ["setting", key], literal);
  expect("change" in made && applied(saved, made.change)).toBe(want);
});

test.each([
  ["lasts", saved.replace("  lasts: 90d # a quarter\n", "")],
  ["domains", saved.replace("  domains:\n  - a.com\n  - b.com\n", "")],
  ["banner", saved.replace("  # people asked for this\n  banner:\n    text: x # why\n    level: info\n", "")],
])("unset takes %s out and nothing else", (key, want) => {
  const made = unset(saved, ["setting", key]);
  expect("change" in made && applied(saved, made.change)).toBe(want);
});

test("what is written in one line, or isn't there, isn't unset", () => {
  expect(unset("setting: {identifier: settings, lasts: 1d}\n", ["setting", "lasts"])).toHaveProperty("refused");
  expect(unset(saved, ["setting", "allow"])).toHaveProperty("refused");
  expect(assign("setting: {identifier: settings}\n", ["setting", "lasts"], "1d")).toHaveProperty("change");
});
