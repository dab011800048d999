import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.mjs";
import { script, start } from "./server.mjs";

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
