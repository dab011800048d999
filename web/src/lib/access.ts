import * as kinds from "./kinds";
import { at, listAt, textAt, type Value } from "./yaml";

/** Where documents of a kind live. */
export type Level = "account" | "organization" | "project";

const everywhere: Level[] = ["account", "organization", "project"];

/** What the console shows of a kind besides its documents themselves. */
export interface Section {
  of: kinds.Kind;
  about: string;
  levels: Level[];
  /** Columns of the list, which are facts of the page, too. */
  columns: [string, (doc: Value) => string][];
  /** What only the page has. */
  facts?: [string, (doc: Value) => string][];
  /** Lists that the page has, by name, one item a line. */
  lists?: [string, string, (doc: Value) => string[]][];
}

const words = (list: Value[]) => list.map((v) => (typeof v === "object" ? JSON.stringify(v) : String(v)));
const disabled = (doc: Value) => (at(doc, "disabled") === true ? "disabled" : "");
const count = (n: number, one: string, many = `${one}s`) => (n === 0 ? "" : `${n} ${n === 1 ? one : many}`);
const members = (doc: Value) => [...words(listAt(doc, "users")), ...words(listAt(doc, "userEmails"))];
const tags = (doc: Value) => {
  const found = at(doc, "tags");
  if (typeof found !== "object" || found === null || Array.isArray(found)) return "";
  return Object.entries(found)
    .map(([k, v]) => (v ? `${k}: ${v}` : k))
    .join(", ");
};
const place = (scope: Value) =>
  [textAt(scope, "orgIdentifier"), textAt(scope, "projectIdentifier")].filter(Boolean).join(" / ") || "the account";
const resource = (r: Value) =>
  [
    textAt(r, "resourceType"),
    words(listAt(r, "identifiers")).join(", "),
    at(r, "attributeFilter") &&
      `by ${textAt(r, "attributeFilter", "attributeName")}: ${words(listAt(r, "attributeFilter", "attributeValues")).join(", ")}`,
  ]
    .filter(Boolean)
    .join(" ");
const description: [string, (doc: Value) => string] = ["Description", (doc) => textAt(doc, "description")];

/** The kinds that say who may do what and what may be, in the order of their pages. To add another, add a row. */
export const sections: Section[] = [
  {
    of: kinds.users,
    about: "People who log in or have tokens.",
    levels: ["account"],
    columns: [
      ["Mail", (doc) => textAt(doc, "email")],
      ["State", disabled],
    ],
  },
  {
    of: kinds.groups,
    about: "People who are given roles and asked for approval together.",
    levels: everywhere,
    columns: [
      ["Members", (doc) => (at(doc, "ssoLinked") === true ? "" : count(members(doc).length, "member"))],
      [
        "Linked",
        (doc) => (at(doc, "ssoLinked") === true ? `${textAt(doc, "linkedSsoId")}: ${textAt(doc, "ssoGroupId")}` : ""),
      ],
    ],
    lists: [["members", "Members", members]],
  },
  {
    of: kinds.roles,
    about: "Lists of permissions.",
    levels: everywhere,
    columns: [["Permissions", (doc) => count(listAt(doc, "permissions").length, "permission")]],
    facts: [description],
    lists: [["permissions", "Permissions", (doc) => words(listAt(doc, "permissions"))]],
  },
  {
    of: kinds.resourceGroups,
    about: "Which resources, and in which scopes.",
    levels: everywhere,
    columns: [
      [
        "Resources",
        (doc) =>
          at(doc, "resourceFilter", "includeAllResources") === true
            ? "all"
            : listAt(doc, "resourceFilter", "resources").map(resource).join("; "),
      ],
      ["In", (doc) => listAt(doc, "includedScopes").map(place).join("; ")],
    ],
    lists: [
      ["resources", "Resources", (doc) => listAt(doc, "resourceFilter", "resources").map(resource)],
      [
        "scopes",
        "Scopes",
        (doc) =>
          listAt(doc, "includedScopes").map(
            (s) => place(s) + (textAt(s, "filter") === "INCLUDING_CHILD_SCOPES" ? ", and what is in it" : ""),
          ),
      ],
    ],
  },
  {
    of: kinds.assignments,
    about: "Who has which role over which resources.",
    levels: everywhere,
    columns: [
      [
        "Who",
        (doc) =>
          `${textAt(doc, "principal", "type").toLowerCase().replaceAll("_", " ")} ${textAt(doc, "principal", "identifier")}`,
      ],
      ["Role", (doc) => textAt(doc, "roleIdentifier")],
      ["Over", (doc) => textAt(doc, "resourceGroupIdentifier")],
      ["State", disabled],
    ],
  },
  {
    of: kinds.serviceAccounts,
    about: "Programs that ask the API.",
    levels: everywhere,
    columns: [["Mail", (doc) => textAt(doc, "email")], description],
  },
  {
    of: kinds.logins,
    about: "Identity providers by which people log in.",
    levels: ["account"],
    columns: [
      ["Type", (doc) => textAt(doc, "type")],
      ["Issuer", (doc) => textAt(doc, "issuer")],
      ["Client", (doc) => textAt(doc, "clientId")],
      ["Makes users", (doc) => (at(doc, "jit", "enabled") === true ? "yes" : "no")],
    ],
  },
  {
    of: kinds.organizations,
    about: "What projects are in.",
    levels: ["account"],
    columns: [description, ["Tags", tags]],
  },
  {
    of: kinds.projects,
    about: "What pipelines, services and all else are in.",
    levels: ["organization"],
    columns: [description, ["Tags", tags]],
  },
];

/** Those that decide on contents. */
export const governance: Section[] = [
  {
    of: kinds.policies,
    about: "Texts in Rego that decide on contents.",
    levels: everywhere,
    columns: [description],
  },
  {
    of: kinds.policySets,
    about: "Which policies are asked when, and what it means that one fails.",
    levels: everywhere,
    columns: [
      ["Asked of", (doc) => `${textAt(doc, "type")} ${textAt(doc, "action")}`],
      ["Policies", (doc) => count(listAt(doc, "policies").length, "policy", "policies")],
      ["State", (doc) => (at(doc, "enabled") === true ? "enabled" : "disabled")],
    ],
    lists: [
      [
        "policies",
        "Policies",
        (doc) => listAt(doc, "policies").map((p) => `${textAt(p, "identifier")}: ${textAt(p, "severity")}`),
      ],
    ],
  },
];
