import type { Scope } from "./api";

/** What a new document of a kind begins with, below the keys that every kind has. {env} is what it belongs to. */
const bodies: Record<string, string> = {
  pipeline: `stages:
  - stage:
      name: First
      identifier: first
      type: Custom
      spec:
        execution:
          steps:
            - step:
                name: Hello
                identifier: hello
                type: ShellScript
                timeout: 10m
                spec:
                  shell: Bash
                  onDelegate: true
                  source:
                    type: Inline
                    spec:
                      script: echo hello
`,
  template: `versionLabel: v1
type: Step
spec:
  type: ShellScript
  timeout: 10m
  spec:
    shell: Bash
    onDelegate: true
    source:
      type: Inline
      spec:
        script: echo hello
`,
  service: `serviceDefinition:
  type: Kubernetes
  spec: {}
`,
  environment: `type: PreProduction
`,
  infrastructureDefinition: `environmentRef: {env}
deploymentType: Kubernetes
type: KubernetesDirect
spec:
  connectorRef: my_cluster
  namespace: default
  releaseName: release-<+INFRA_KEY_SHORT_ID>
`,
  connector: `type: DockerRegistry
spec:
  dockerRegistryUrl: https://index.docker.io/v2/
  providerType: DockerHub
  auth:
    type: Anonymous
`,
  trigger: `enabled: true
pipelineIdentifier: {env}
source:
  type: Scheduled
  spec:
    type: Cron
    spec:
      expression: 0 4 * * *
`,
  inputSet: `pipeline:
  identifier: {env}
`,
  overlayInputSet: `pipelineIdentifier: {env}
inputSetReferences: []
`,
  freeze: `status: Disabled
entityConfigs:
  - name: everything
    entities:
      - type: Service
        filterType: All
windows:
  - timeZone: UTC
    startTime: 2030-12-24 12:00 PM
    duration: 2d
`,
  user: `email: somebody@example.com
`,
  userGroup: `userEmails: []
`,
  role: `permissions:
  - core_pipeline_view
`,
  resourceGroup: `resourceFilter:
  resources:
    - resourceType: PIPELINE
`,
  roleAssignment: `roleIdentifier: _slipway_approver
resourceGroupIdentifier: my_resources
principal:
  type: USER
  identifier: somebody
`,
  serviceAccount: "",
  loginProvider: `type: OIDC
issuer: https://login.example.com
clientId: slipway
clientSecretRef: idp
scopes: [email, profile, groups]
`,
  setting: "",
  organization: "",
  project: "",
  policy: `rego: |
  package pipeline

  deny[msg] {
    input.pipeline.name == ""
    msg := "the pipeline has no name"
  }
`,
  streamingDestination: `status: INACTIVE
spec:
  type: HTTP
  url: https://siem.example.com/slipway
  secretRef: account.siem_key
`,
  policySet: `type: pipeline
action: onsave
enabled: false
policies:
  - identifier: my_policy
    severity: error
`,
};

/** hasStarter says whether documents of a kind can be begun here. */
export const hasStarter = (kind: string) => kind in bodies;

/** starter is a new document of a kind for a scope: what has to be filled in, filled in with something. */
export function starter(kind: string, one: string, scope: Scope, env = "my_pipeline"): string {
  const head =
    kind === "setting" // of which a scope has one
      ? ["name: Settings", "identifier: settings"]
      : [`name: New ${one}`, `identifier: new_${one.replaceAll(" ", "_")}`];
  if (scope.org) head.push(`orgIdentifier: ${scope.org}`);
  if (scope.project) head.push(`projectIdentifier: ${scope.project}`);
  const lines = [...head, ...(bodies[kind] ?? "").replaceAll("{env}", env).trimEnd().split("\n")].filter(Boolean);
  return `${kind}:\n${lines.map((l) => `  ${l}\n`).join("")}`;
}
