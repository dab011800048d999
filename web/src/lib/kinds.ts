/** What the console calls a kind of document, and the page that lists it. */
export interface Kind {
  kind: string;
  page: string;
  one: string;
  many: string;
}

const kind = (kind: string, page: string, one: string, many: string): Kind => ({ kind, page, one, many });

export const pipelines = kind("pipeline", "pipelines", "pipeline", "pipelines");
export const services = kind("service", "services", "service", "services");
export const environments = kind("environment", "environments", "environment", "environments");
export const infrastructures = kind("infrastructureDefinition", "environments", "infrastructure", "infrastructures");
export const connectors = kind("connector", "connectors", "connector", "connectors");
export const secrets = kind("secret", "secrets", "secret", "secrets");
export const triggers = kind("trigger", "triggers", "trigger", "triggers");
export const templates = kind("template", "templates", "template", "templates");
export const inputSets = kind("inputSet", "input-sets", "input set", "input sets");
export const overlays = kind("overlayInputSet", "input-sets", "overlay", "overlays");
export const freezes = kind("freeze", "freezes", "freeze", "freezes");

const known = [
  pipelines,
  services,
  environments,
  infrastructures,
  connectors,
  triggers,
  templates,
  inputSets,
  overlays,
  freezes,
];

/** kindOf is the kind that documents have at their root; undefined: the console has no page for it. */
export const kindOf = (name: string): Kind | undefined => known.find((k) => k.kind === name);

/** pageOf is where a document's page is, below its scope. */
export function pageOf(of: Kind, id: string, env?: string): string[] {
  switch (of) {
    case infrastructures:
      return ["environments", env ?? "", "infrastructures", id];
    case overlays:
      return ["overlays", env ?? "", id];
    case triggers:
    case inputSets:
      return [of.page, env ?? "", id];
    default:
      return [of.page, id];
  }
}
