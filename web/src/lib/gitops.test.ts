import { expect, test } from "vitest";
import { keyOfText, onlyWrong, rowsOf, textOfKey } from "./gitops";

const pod = { kind: "Pod", namespace: "shop", name: "web-1", uid: "p", health: { status: "Degraded" } };
const set = { group: "apps", kind: "ReplicaSet", namespace: "shop", name: "web", uid: "r" };
const web = { group: "apps", kind: "Deployment", namespace: "shop", name: "web", uid: "d", status: "Synced" };
const settings = { kind: "ConfigMap", namespace: "shop", name: "settings", status: "Synced" };

test("a tree is drawn from its roots, whatever order it comes in", () => {
  const tree = {
    nodes: [{ ...pod, parentRefs: [set] }, settings, { ...set, parentRefs: [web] }, web],
    orphanedNodes: [{ kind: "Job", name: "alone", parentRefs: [{ kind: "Cron", name: "gone" }] }],
  };
  const rows = rowsOf(tree);
  const shown = rows.map((r) => `${r.depth} ${r.node.name}`);
  expect(shown).toEqual(["0 settings", "0 web", "1 web", "2 web-1", "0 alone"]);
  expect(onlyWrong(rows).map((r) => r.node.name)).toEqual(["web", "web", "web-1"]);
});

test("what owns itself is drawn once", () => {
  const a = { kind: "A", name: "a", uid: "a" };
  const b = { kind: "B", name: "b", uid: "b" };
  expect(
    rowsOf({
      nodes: [
        { ...a, parentRefs: [b] },
        { ...b, parentRefs: [a] },
      ],
    }).map((r) => r.node.name),
  ).toEqual(["a", "b"]);
});

test("an object's address names it", () => {
  expect(keyOfText(textOfKey(web))).toEqual({ group: "apps", kind: "Deployment", namespace: "shop", name: "web" });
  expect(keyOfText("nothing")).toBeUndefined();
});
