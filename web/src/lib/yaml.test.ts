import { expect, test } from "vitest";
import { at, listAt, put, read, textAt } from "./yaml";

const trigger = `# ours
trigger:
  name: on push # says who
  enabled: true   # for now
  source: {type: Webhook}
`;

test("a document's values are found by path, and nothing is where there is none", () => {
  const doc = read(trigger);
  expect([textAt(doc, "trigger", "source", "type"), textAt(doc, "trigger", "none", "deep")]).toEqual(["Webhook", ""]);
  expect([at(read("a: ["), "b"), at(read(""), "a"), listAt(doc, "trigger")]).toEqual([undefined, undefined, []]);
});

test("a value is put in its place, and all around it stays", () => {
  expect(put(trigger, ["trigger", "enabled"], "false")).toBe(trigger.replace("enabled: true ", "enabled: false "));
  expect(put("trigger: {name: a, enabled: 'true'}", ["trigger", "enabled"], "false")).toBe(
    "trigger: {name: a, enabled: false}",
  );
  expect(put("trigger: {name: a}", ["trigger", "enabled"], "false")).toBe("trigger: {enabled: false, name: a}");
  expect(put("trigger:\n  name: t # here\n", ["trigger", "enabled"], "false")).toBe(
    "trigger:\n  enabled: false\n  name: t # here\n",
  );
  for (const none of ["trigger: none", "trigger: {}", "trigger: {enabled: [a]}", "a: ["])
    expect(put(none, ["trigger", "enabled"], "false")).toBeUndefined();
});
