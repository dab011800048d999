import { environments, infrastructures, services } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { listAt, textAt } from "../lib/yaml";
import { DocumentPage, Documents, DocumentsPage, usePlace } from "../ui/Document";
import { Moments, Placements } from "./Instances";

/** Services lists a scope's services. */
export function Services() {
  return <DocumentsPage of={services} />;
}

/** Service is a service: where it runs, what has changed, what it is made of. */
export function Service() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={services}
      id={id}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["Deployed as", textAt(doc, "serviceDefinition", "type")],
      ]}
      parts={() => [
        ["instances", "What runs where", () => <Placements service={id} />],
        ["history", "History", () => <Moments service={id} />],
      ]}
    />
  );
}

/** Environments lists a scope's environments. */
export function Environments() {
  return <DocumentsPage of={environments} />;
}

/** Environment is an environment: what runs in it, and its infrastructures. */
export function Environment() {
  const { params } = usePlace();
  const id = params.id ?? "";
  return (
    <DocumentPage
      of={environments}
      id={id}
      facts={(doc) => [
        ["Description", textAt(doc, "description")],
        ["Type", textAt(doc, "type")],
        [
          "Variables",
          listAt(doc, "variables")
            .map((v) => textAt(v, "name"))
            .join(", "),
        ],
      ]}
      parts={() => [
        ["instances", "What runs here", () => <Placements environment={id} />],
        [
          "infrastructures",
          "Infrastructures",
          () => <Documents of={infrastructures} env={id} page={(e) => ["environments", id, "infrastructures", e.id]} />,
        ],
      ]}
    />
  );
}

/** Infrastructure is a place of an environment. */
export function Infrastructure() {
  const { scope, params } = usePlace();
  const { environment = "", id = "" } = params;
  return (
    <DocumentPage
      of={infrastructures}
      id={id}
      env={environment}
      above={[
        [`Environments of ${nameOf(scope)}`, ["environments"]],
        [environment, ["environments", environment]],
      ]}
      facts={(doc) => [
        ["Type", textAt(doc, "type")],
        ["Deploys", textAt(doc, "deploymentType")],
        ["Connector", textAt(doc, "spec", "connectorRef")],
        ["Namespace", textAt(doc, "spec", "namespace")],
        ["Several deployments at once", textAt(doc, "allowSimultaneousDeployments")],
        [
          "For the services",
          listAt(doc, "scopedServices")
            .map((s) => String(s))
            .join(", "),
        ],
      ]}
    />
  );
}
