/** What the console calls a kind of document, and the page that lists it. */
export interface Kind {
  kind: string;
  page: string;
  one: string;
  many: string;
}

const kind = (kind: string, page: string, one: string, many: string): Kind => ({ kind, page, one, many });

export const services = kind("service", "services", "service", "services");
export const environments = kind("environment", "environments", "environment", "environments");
export const infrastructures = kind("infrastructureDefinition", "environments", "infrastructure", "infrastructures");
