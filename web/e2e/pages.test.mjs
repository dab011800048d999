import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { script, stage, start } from "./server.mjs";

let server;
let browser;
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

before(async () => {
  [server, browser] = await Promise.all([start(), launch()]);
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

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** on runs a test on a page of its own, which must have done nothing that it may not. */
function on(name, body, options) {
  test(name, async () => {
    const opened = await open(browser, server, options);
    try {
      await body(opened);
      assert.deepEqual(await opened.wrong(), []);
    } catch (e) {
      if (process.env.SHOTS)
        await opened.page.screenshot({ path: `${process.env.SHOTS}/${name.replace(/\W+/g, "-")}.png` });
      throw e;
    } finally {
      await opened.context.close();
    }
  });
}

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
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("link", { name: deployed.id }).waitFor();
  await page.getByRole("link", { name: "Document" }).click();
  await page.getByRole("region", { name: "YAML" }).getByText("identifier: engine").waitFor();
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
    await page.getByRole("link", { name: "Infrastructures" }).click();
    await page.getByRole("link", { name: "Hall" }).click();
    await page.getByRole("heading", { name: "Hall", level: 1 }).waitFor();
    assert.deepEqual(await accessible(), []);
  },
  { colorScheme: "dark" },
);

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
    await page.getByText('value: ""').waitFor();
    assert.deepEqual(await accessible(), []);
    assert.ok(!seen.some((text) => /hunter/.test(text)));
  },
  { colorScheme: "dark" },
);

on("delegates say whether they work; a token is shown once, and revoked", async ({ page, login, accessible }) => {
  await login(`${at}/delegates`);
  await page.getByText("connected", { exact: true }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("link", { name: "Tokens" }).last().click();
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
      "freeze: {name: Feast, identifier: feast, orgIdentifier: default, projectIdentifier: default_project, status: Enabled, entityConfigs: [{name: all, entities: [{type: Service, filterType: Equals, entityRefs: [other]}]}], windows: [{timeZone: Europe/Berlin, startTime: 2036-12-24 12:00 PM, duration: 2d}]}\n",
    );
    const asks = (more) =>
      `pipeline: {name: Asks, identifier: asks, stages: [${stage("a", [script("b", "true")])}], variables: [{name: kept, type: String, value: <+input>}${more}]}\n`;
    await server.save(asks(", {name: gone, type: String, value: <+input>}"));
    await server.save(
      "inputSet: {name: Mine, identifier: mine, orgIdentifier: default, projectIdentifier: default_project, pipeline: {identifier: asks, variables: [{name: kept, type: String, value: y}, {name: gone, type: String, value: x}]}}\n",
    );
    await server.save(asks(""));
    await login(`${at}/freezes`);
    await page.getByRole("link", { name: "Feast" }).click();
    await page.getByRole("row", { name: /2036-12-24 12:00 PM after 2d Europe\/Berlin no/ }).waitFor();
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
