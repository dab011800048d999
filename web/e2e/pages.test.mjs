import assert from "node:assert/strict";
import { suite } from "./browser.mjs";
import { script, stage } from "./server.mjs";

let server;
let deployed;
const at = "/o/default/p/default_project";

const machines = `template:
  name: Machines
  identifier: machines
  versionLabel: v1
  type: CustomDeployment
  spec:
    infrastructure:
      fetchInstancesScript:
        store: {type: Inline, spec: {content: "echo '[{\\"name\\": \\"press\\"}]' > \\"$INSTANCE_OUTPUT_PATH\\""}}
      instancesListPath: $
      instanceAttributes: [{name: instancename, jsonPath: name}]
    execution: {stepTemplateRefs: []}
`;
const engine = `service:
  name: Engine
  identifier: engine
  serviceDefinition:
    type: CustomDeployment
    spec:
      customDeploymentRef: {templateRef: machines}
      artifacts: {primary: {primaryArtifactRef: a, sources: [{identifier: a, type: CustomArtifact, spec: {version: "1.4"}}]}}
`;
const hall = `infrastructureDefinition:
  name: Hall
  identifier: hall
  environmentRef: floor
  deploymentType: CustomDeployment
  type: CustomDeployment
  spec: {customDeploymentRef: {templateRef: machines}}
`;
const fleet = `pipeline:
  name: Fleet
  identifier: fleet
  stages:
    - stage:
        name: Deploy
        identifier: deploy
        type: Deployment
        spec:
          deploymentType: CustomDeployment
          customDeploymentRef: {templateRef: machines, versionLabel: v1}
          service: {serviceRef: engine}
          environment: {environmentRef: floor, infrastructureDefinitions: [{identifier: hall}]}
          execution:
            steps: [{step: {name: Fetch, identifier: fetch, type: FetchInstanceScript, timeout: 1m, spec: {}}}]
            rollbackSteps: [${script("back", "echo back")}]
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`;

const on = suite(async (started) => {
  server = started;
  for (const document of [
    machines,
    engine,
    "environment: {name: Floor, identifier: floor, type: PreProduction}\n",
    hall,
    fleet,
  ])
    await server.save(document);
  deployed = await server.finished((await server.run("fleet")).id);
});

on("a service says what runs where, by which deployment, and since when", async ({ page, login, accessible }) => {
  await login(`${at}/services`);
  await page.getByLabel("Filter the services").fill("nothing");
  await page.getByText("0 of the 1 services match nothing").waitFor();
  assert.match(page.url(), /q=nothing/);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("link", { name: "Engine" }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.locator("h1").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Engine", level: 1 }).waitFor();
  const row = page.getByRole("row", { name: /floor \/ hall/ });
  await row.getByText("1.4").first().waitFor();
  await row.getByText(/by admin/).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("link", { name: deployed.id }).waitFor();
  await page.getByRole("tab", { name: "Document" }).click();
  await page.getByRole("region", { name: "The document" }).getByText("identifier: engine").waitFor();
  assert.match(page.url(), /tab=document/);
});

on(
  "an environment has its infrastructures and what runs in it, and a rollback asks first",
  async ({ page, login, accessible }) => {
    await login(`${at}/environments/floor`);
    await page.getByRole("button", { name: "Roll back" }).click();
    const dialog = page.getByRole("dialog", { name: "Roll back engine in floor / hall?" });
    await dialog.getByText("1 instance runs 1.4.").waitFor();
    assert.deepEqual(await accessible(), []);
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("rolls another back").waitFor();
    await page.goto(`${at}/environments/floor`);
    await page.getByRole("tab", { name: "Infrastructures" }).click();
    await page.getByRole("link", { name: "Hall" }).click();
    await page.getByRole("heading", { name: "Hall", level: 1 }).waitFor();
    assert.deepEqual(await accessible(), []);
  },
  { colorScheme: "dark" },
);

on("a stage says which version of which service it deployed", async ({ page, login, accessible }) => {
  await login(`/x/${deployed.id}?node=pipeline.stages.deploy`);
  await page.getByRole("row", { name: /^a CustomArtifact 1\.4/ }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("tabpanel").getByRole("link", { name: "engine" }).click();
  await page.getByRole("heading", { name: "Engine", level: 1 }).waitFor();
});

on("a connector is tested by a delegate, check by check", async ({ page, login, accessible }) => {
  await server.save(
    `connector: {name: Far, identifier: far, orgIdentifier: default, projectIdentifier: default_project, type: DockerRegistry, spec: {dockerRegistryUrl: "http://127.0.0.1:1", providerType: Other, auth: {type: Anonymous}}}\n`,
  );
  await login(`${at}/connectors`);
  await page.getByRole("link", { name: "Far" }).click();
  await page.getByText("http://127.0.0.1:1").first().waitFor();
  await page.getByRole("button", { name: "Test the connection" }).click();
  await page.getByText("The connection doesn't work.").waitFor();
  await page.getByRole("row", { name: /reach failed/ }).waitFor();
  assert.match(page.url(), /test=x/);
  assert.deepEqual(await accessible(), []);
});

on(
  "a secret's value is set, and never shown",
  async ({ page, login, accessible }) => {
    const seen = [];
    page.on("response", async (r) => seen.push(await r.text().catch(() => "")));
    await login(`${at}/secrets`);
    await page.getByText("No secret is saved here yet").waitFor();
    await page.getByRole("button", { name: "New secret" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Identifier").fill("db_password");
    await dialog.getByLabel("Value").fill('first "hunter2"\n: x');
    assert.deepEqual(await accessible(), []);
    await dialog.getByRole("button", { name: "New secret" }).click();
    await page.getByRole("link", { name: "db_password" }).click();
    await page.getByRole("button", { name: "Set the value" }).click();
    await dialog.getByLabel("Value").fill("second hunter3");
    await dialog.getByRole("button", { name: "Set the value" }).click();
    await page.getByText("version 2").waitFor();
    await page.getByRole("region", { name: "The document" }).getByText('value: ""').waitFor();
    assert.deepEqual(await accessible(), []);
    assert.ok(!seen.some((text) => /hunter/.test(text)));
  },
  { colorScheme: "dark" },
);

on("delegates say whether they work; a token is shown once, and revoked", async ({ page, login, accessible }) => {
  await login(`${at}/delegates`);
  await page.getByText("connected", { exact: true }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("tab", { name: "Tokens" }).click();
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("yard");
  await page.getByRole("dialog").getByLabel("Tags").fill("eu, prod");
  await page.getByRole("dialog").getByRole("button", { name: "New token" }).click();
  const shown = page.getByRole("dialog", { name: "The token yard" });
  await shown.getByText(/^dlg\./).waitFor();
  assert.deepEqual(await accessible(), []);
  await shown.getByRole("button", { name: "Close" }).click();
  const row = page.getByRole("row", { name: /yard/ });
  await row.getByText("eu, prod").waitFor();
  assert.equal(await page.getByText(/^dlg\./).count(), 0);
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.getByText("revoked").waitFor();
});

on(
  "a trigger is disabled by one key of its document, and says what became of events",
  async ({ page, login, accessible }) => {
    await server.save(`trigger:
  name: by hand # ours
  identifier: hand
  orgIdentifier: default
  projectIdentifier: default_project
  pipelineIdentifier: fleet
  source: {type: Webhook, spec: {type: Custom, spec: {payloadConditions: [{key: <+trigger.payload.go>, operator: Equals, value: "yes"}]}}}
`);
    const fired = await fetch(`${server.url}/webhooks/custom?orgIdentifier=default&projectIdentifier=default_project`, {
      method: "POST",
      headers: { "X-Api-Key": server.token, "Content-Type": "application/json" },
      body: '{"go": "no"}',
    });
    assert.ok(fired.ok);
    await login(`${at}/triggers`);
    await page.getByRole("link", { name: "by hand" }).click();
    await page.getByRole("cell", { name: "Skipped" }).waitFor();
    assert.deepEqual(await accessible(), []);
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("disabled: it listens to nothing").waitFor();
    const { yaml } = await server.ask("GET", "/v1/entities/trigger/hand?org=default&project=default_project&env=fleet");
    assert.match(yaml, /^trigger:\n {2}enabled: false\n {2}name: by hand # ours\n/);
  },
);

on(
  "templates, input sets, files and freezes are shown",
  async ({ page, login, accessible }) => {
    await server.save(
      "freeze: {name: Feast, identifier: feast, orgIdentifier: default, projectIdentifier: default_project, status: Enabled, entityConfigs: [{name: all, entities: [{type: Service, filterType: Equals, entityRefs: [other]}]}], windows: [{timeZone: Europe/Berlin, startTime: 2020-12-24 12:00 PM, duration: 2d, recurrence: {type: Yearly}}]}\n",
    );
    const asks = (more) =>
      `pipeline: {name: Asks, identifier: asks, stages: [${stage("a", [script("b", "true")])}], variables: [{name: kept, type: String, value: <+input>}${more}]}\n`;
    await server.save(asks(", {name: gone, type: String, value: <+input>}"));
    await server.save(
      "inputSet: {name: Mine, identifier: mine, orgIdentifier: default, projectIdentifier: default_project, pipeline: {identifier: asks, variables: [{name: kept, type: String, value: y}, {name: gone, type: String, value: x}]}}\n",
    );
    await server.save(asks(""));
    await login(`${at}/freezes`);
    await page
      .getByRole("row", { name: /Feast (enabled, not yet active|active now) default \/ default_project 2[3456] Dec/ })
      .waitFor();
    await page.getByRole("link", { name: "Feast" }).click();
    await page.getByRole("row", { name: /2020-12-24 12:00 PM after 2d Europe\/Berlin Yearly/ }).waitFor();
    assert.deepEqual(await accessible(), []);
    await page.getByRole("link", { name: "Templates" }).click();
    await page.getByRole("link", { name: "Machines" }).click();
    await page.getByText("links without a version mean this one").waitFor();
    await page.getByRole("link", { name: "Input sets" }).first().click();
    await page.getByRole("link", { name: "Mine" }).click();
    await page.getByText("It doesn't fit the pipeline asks").waitFor();
    await page.getByRole("button", { name: "Reconcile" }).click();
    await page.getByText("What the pipeline doesn't ask for is left out").waitFor();
    assert.deepEqual(await accessible(), []);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Path").fill("/manifests/web.yaml");
    await page
      .getByLabel("Content")
      .setInputFiles({ name: "web.yaml", mimeType: "text/plain", buffer: Buffer.from("kind: Service\n") });
    await page.getByRole("dialog").getByRole("button", { name: "New file" }).click();
    await page.getByRole("link", { name: "/manifests/web.yaml" }).click();
    await page.getByRole("region", { name: "Content" }).getByText("kind: Service").waitFor();
    assert.deepEqual(await accessible(), []);
  },
  { colorScheme: "dark" },
);

/** agent plays a GitOps agent: it reports an application, and answers what is asked of it until it is stopped. */
async function agent(answers) {
  const place = { agent: { org: "default", project: "default_project", id: "eu1" }, fence: 1 };
  await server.save(
    "gitopsAgent: {identifier: eu1, name: eu1, orgIdentifier: default, projectIdentifier: default_project}\n",
  );
  const { secret } = await server.ask(
    "POST",
    "/v1/tokens?org=default&project=default_project",
    '{"kind": "delegate", "name": "eu1"}',
  );
  const say = async (what, body) => {
    const answer = await fetch(`${server.url}/v1/delegate/gitops/${what}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ ...place, ...body }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${what}: ${text}`);
    return text ? JSON.parse(text) : {};
  };
  const asked = [];
  let stopped = false;
  await say("hello", { version: "1", clusterUID: "u", namespace: "slipway" });
  await server.ask(
    "PUT",
    "/v1/entities?org=default&project=default_project&agent=eu1",
    `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  project: default
  source: {repoURL: "https://git.example.com/web.git", path: web, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
`,
    "application/yaml",
  );
  const summary = {
    sync: { status: "OutOfSync", revision: "0123456789abcdef" },
    health: { status: "Degraded", message: "web has too few pods" },
    counts: { objects: 2, outOfSync: 1, degraded: 1 },
  };
  await say("report", {
    seq: 1,
    apps: [{ name: "web", summary }],
    history: [
      {
        app: { name: "web" },
        entry: { id: 1, revision: "aaaa", deployedAt: "2026-01-01T00:00:00Z", source: { repoURL: "r" } },
      },
    ],
  });
  const loop = (async () => {
    while (!stopped) {
      const news = await say("poll", { documents: 0, requests: 0 });
      for (const r of news.open ?? []) {
        asked.push(r);
        await say("answer", { id: r.id, result: { data: answers[r.kind] } });
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    asked,
    async stop() {
      stopped = true;
      await loop;
    },
  };
}

on(
  "an application shows its objects and what differs, and is synced and rolled back after a question",
  async ({ page, login, accessible }) => {
    const web = { group: "apps", kind: "Deployment", namespace: "shop", name: "web" };
    const pod = {
      kind: "Pod",
      namespace: "shop",
      name: "web-1",
      health: { status: "Degraded", message: "out of memory" },
    };
    const settings = { kind: "ConfigMap", namespace: "shop", name: "settings", status: "Synced" };
    const eu1 = await agent({
      tree: {
        nodes: [
          settings,
          { ...web, uid: "d", status: "OutOfSync", health: { status: "Degraded" } },
          { ...pod, parentRefs: [{ ...web, uid: "d" }] },
        ],
      },
      diff: [
        { ...web, text: "-  replicas: 1\n+  replicas: 3" },
        { kind: "Job", namespace: "shop", name: "old", prune: true },
      ],
      manifests: [{ kind: "Pod", namespace: "shop", name: "web-1", text: "kind: Pod\nstatus: {phase: Failed}\n" }],
      events: [
        { type: "Warning", reason: "OOMKilled", message: "it took too much", lastTimestamp: "2026-01-01T00:00:00Z" },
      ],
    });
    try {
      await login(`${at}/gitops`);
      await page.getByRole("link", { name: "web" }).waitFor();
      await page.getByLabel("Health").selectOption("Healthy");
      await page.getByText("No applications match: Healthy.").waitFor();
      await page.getByLabel("Health").selectOption("Degraded");
      await page.getByRole("link", { name: "web" }).click();
      await page.getByText("web has too few pods").waitFor();
      await page.getByText("3 of 3 objects").waitFor();
      await page.getByLabel("Only what isn't synced or healthy").check();
      await page.getByText("2 of 3 objects").waitFor();
      await page.getByRole("button", { name: "Pod shop/web-1" }).click();
      await page.getByText("status: {phase: Failed}").waitFor();
      await page.getByRole("cell", { name: "OOMKilled" }).waitFor();
      assert.match(page.url(), /object=/);
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Difference" }).click();
      await page.getByText("+  replicas: 3").waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("button", { name: "Sync" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Job shop/old isn't in Git any more").waitFor();
      await dialog.getByLabel("Delete what Git doesn't have any more").check();
      await dialog.getByRole("button", { name: "Sync" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal(eu1.asked.findLast((r) => r.kind === "sync").operation.sync.prune, true);
      await page.getByRole("tab", { name: "History" }).click();
      await page.getByRole("button", { name: "Roll back" }).click();
      await dialog.getByText(/stays at that revision until Git has something else/).waitFor();
      await dialog.getByRole("button", { name: "Roll back" }).click();
      await dialog.waitFor({ state: "detached" });
      assert.equal(eu1.asked.findLast((r) => r.kind === "rollback").history, 1);
      await page.goto(`${at}/gitops?tab=agents`);
      await page.getByRole("cell", { name: "connected", exact: true }).waitFor();
    } finally {
      await eu1.stop();
    }
  },
);

on("the audit trail is read newest first, and by who did what", async ({ page, login, accessible }) => {
  await server.save("service: {name: Boat, identifier: boat, description: old}\n");
  await server.save("service: {name: Boat, identifier: boat, description: new}\n");
  await login(`${at}/audit`);
  await page.getByLabel("Identifier").fill("boat");
  await page.getByLabel("Identifier").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2); // the unfiltered list had more
  assert.deepEqual(await page.locator("tbody tr td:nth-child(3)").allInnerTexts(), ["update", "create"]);
  await page.locator("h1").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByText("description: new").first().waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByLabel("To", { exact: true }).fill("2020-01-31");
  await page.getByLabel("To", { exact: true }).press("Enter");
  await page.getByText("No records match: to 2020-01-31, boat.").waitFor();
  assert.match(page.url(), /to=%?2?2?2020-01-31/);
  await page.getByLabel("To", { exact: true }).fill("");
  await page.getByLabel("To", { exact: true }).press("Enter");
  await page.getByLabel("From", { exact: true }).fill("2020-01-01");
  await page.getByLabel("From", { exact: true }).press("Enter");
  await page.getByText("service boat").nth(1).waitFor();
  await page.getByLabel("From", { exact: true }).fill("");
  await page.getByLabel("From", { exact: true }).press("Enter");
  await page.getByLabel("Action").selectOption("DELETE");
  await page.getByText("No records match: delete, boat.").waitFor();
  assert.match(page.url(), /action=DELETE/);
});

on("a pipeline is deleted once nothing names it", async ({ page, login, accessible, expect }) => {
  const stages = (stage) => `stages: [{stage: ${stage}}]`;
  const wait =
    "{name: Wait, identifier: wait, type: Custom, spec: {execution: {steps: [{step: {name: Wait, identifier: wait, type: Wait, spec: {duration: 1s}}}]}}}";
  await server.save(`pipeline: {name: Old, identifier: old, ${stages(wait)}}\n`);
  const chain =
    "{name: Chain, identifier: chain, type: Pipeline, spec: {org: default, pipeline: old, project: default_project}}";
  await server.save(`pipeline: {name: Chains, identifier: chains, ${stages(chain)}}\n`);
  await login(`${at}/pipelines/old`);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete the pipeline old?" });
  await dialog.getByRole("link", { name: "chains" }).waitFor();
  assert.deepEqual(await accessible(), []);
  expect(/409 \(Conflict\)/);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByRole("link", { name: "chains" }).click();
  await page.getByRole("heading", { name: "Chains", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  const other = page.getByRole("dialog", { name: "Delete the pipeline chains?" });
  await other.getByText("Nothing that you may see names it.").waitFor();
  await other.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Pipelines", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Old", exact: true }).waitFor();
  await page.getByRole("link", { name: "Chains", exact: true }).waitFor({ state: "detached" });
});
