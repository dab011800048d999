import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { suite } from "./browser.mjs";
import { pipeline, program, script, stage } from "./server.mjs";

let server;
const ran = {};
const project = "/o/default/p/default_project";

const asking = (variables) =>
  `pipeline: {name: Asking, identifier: asking, variables: [${variables.join(", ")}], stages: [${stage("say", [script("say", "echo image <+pipeline.variables.image> in <+pipeline.variables.where>")])}]}\n`;
const variable = (name, value, type = "String") => `{name: ${name}, type: ${type}, value: ${JSON.stringify(value)}}`;
const set = (id, variables) =>
  `inputSet: {name: In ${id}, identifier: ${id}, orgIdentifier: default, projectIdentifier: default_project, pipeline: {identifier: asking, variables: [${variables.join(", ")}]}}\n`;

const on = suite(async (started) => {
  server = started;
  await server.save(
    pipeline("broken", [stage("build", [script("compile", "echo 'main.c: x is not declared' >&2; exit 3")])]),
  );
  await server.save(asking([variable("gone", "<+input>")]));
  await server.save(set("old", [variable("gone", "x")]));
  await server.save(
    asking([
      variable("image", "<+input>.regex(^[a-z]+:[0-9.]+$)"),
      variable("where", "<+input>.default(eu).allowedValues(eu,us)"),
      variable("key", "<+input>", "Secret"),
      variable("features", "<+input>.default(a).selectManyFrom(a,b,c)"),
    ]),
  );
  await server.save(set("staging", [variable("image", "nginx:1.27"), variable("where", "us")]));
  await server.save(
    "secret: {type: SecretText, name: Password, identifier: password, orgIdentifier: default, projectIdentifier: default_project, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hush}}\n",
  );
  const deciding =
    "failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: ManualIntervention, spec: {timeout: 1d, onTimeout: {action: {type: Abort}}}}}}]";
  await server.save(
    pipeline("unsure", [stage("try", [script("flaky", "exit 1")]).replace("spec:", `${deciding}, spec:`)]),
  );
  await server.save(
    pipeline("late", [
      stage("ask", [
        script("say", "echo ticket <+spec.environmentVariables.ticket>").replace(
          "onDelegate: true,",
          'onDelegate: true, environmentVariables: [{name: ticket, type: String, value: "<+input>.regex(^[A-Z]+-[0-9]+$).executionInput()"}],',
        ),
      ]),
    ]),
  );
  const inputs = { "variables.image": "nginx:1.26", "variables.key": "password" };
  ran.eu = await server.finished((await server.run("asking", { inputs })).id);
  ran.us = await server.finished((await server.run("asking", { inputs: { ...inputs, "variables.where": "us" } })).id);
  await server.save(
    pipeline("done", [
      stage("say", [script("hello", "echo hello")]).replace(
        "execution: {",
        `execution: {rollbackSteps: [${script("undo", "echo undone")}], `,
      ),
    ]),
  );
  ran.done = await server.finished((await server.run("done")).id);
  ran.broken = await server.finished((await server.run("broken")).id);
});

on("a failed step's log is read once, however often it is shown", async ({ page, login }) => {
  const asked = [];
  page.on("request", (r) => /\/log\?/.test(r.url()) && asked.push(r.url()));
  await login(`/x/${ran.broken.id}`);
  await page.getByRole("group", { name: "The end of its log" }).getByText("main.c").waitFor();
  await page.getByRole("log").getByText("main.c").waitFor();
  assert.equal(asked.length, 1, asked.join("\n"));
});

for (const colorScheme of ["light", "dark"]) {
  on(
    `a pipeline is found by keyboard, and shows what it is and has run, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await login(`${project}/executions`);
      await page.getByRole("heading", { name: "Deployments" }).waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("p");
      await page.getByRole("heading", { name: "Pipelines" }).waitFor();
      await page.getByRole("link", { name: "#1 Failed" }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "broken" }).waitFor();
      assert.equal(await page.title(), "broken · Slipway");
      await page.getByRole("link", { name: "broken #1" }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Deployments" }).press("ArrowRight");
      const yaml = page.getByRole("region", { name: "Its YAML" });
      await yaml.getByText("identifier: broken").first().waitFor();
      await yaml.getByRole("link", { name: "Line 1" }).click();
      await page.waitForURL(/tab=yaml&line=1/);
      assert.deepEqual(await accessible(), []);
      await page.reload();
      await page.locator(".marked", { hasText: "pipeline" }).waitFor();
      await page.goto(`${project}/pipelines/asking?tab=inputs`);
      await page.getByRole("row", { name: /In staging.*yes/ }).waitFor();
      await page.getByRole("row", { name: /In old.*no.*variables.gone/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Input sets" }).press("ArrowRight");
      await page.getByText("it has no trigger").waitFor();
    },
    { colorScheme },
  );
}

on("a pipeline and a scope without any are told of", async ({ page, login, expect }) => {
  expect(/404 \(Not Found\)/);
  await login(`${project}/pipelines/none`);
  await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
  await page.goto("/o/default/p/another/pipelines");
  await page.getByText("There is no pipeline here yet").waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  on(
    `a pipeline is run by keyboard with what it asks for, in the ${colorScheme}`,
    async ({ page, login, accessible, expect }) => {
      expect(/400 \(Bad Request\)/);
      await login(`${project}/pipelines/asking`);
      await page.getByRole("heading", { name: "Asking" }).waitFor();
      await page.keyboard.press("r");
      await page.getByRole("heading", { name: "Run asking" }).waitFor();
      const image = page.getByLabel("image");
      await image.waitFor();
      await page.getByRole("button", { name: "Run" }).press("Enter");
      await page.locator("[aria-invalid=true]:focus").waitFor();
      assert.equal(await image.evaluate((e) => e === document.activeElement), true);
      await page.getByText("a value is needed").first().waitFor();
      assert.deepEqual(await accessible(), []);
      if (colorScheme === "dark") return;
      await page.keyboard.type("not an image");
      await page.locator("[id$=wrong]", { hasText: "a-z" }).waitFor();
      await page.getByRole("button", { name: "Reset image" }).press("Enter");
      await page.getByLabel("Input set", { exact: true }).selectOption("staging");
      await page.getByRole("button", { name: "Add" }).press("Enter");
      await page.waitForURL(/inputSets=staging/);
      await page.getByText("from the input set staging").first().waitFor();
      assert.equal(await image.inputValue(), "nginx:1.27");
      const where = page.getByLabel("where", { exact: true });
      assert.equal(await where.inputValue(), "us");
      await where.selectOption("eu");
      await page.getByLabel("key").fill("password");
      await page.getByRole("checkbox", { name: "c" }).press("Space");
      assert.deepEqual(await accessible(), []);
      await page.getByText("What it would do").press("Enter");
      await page.getByText("ShellScript").waitFor();
      await page.getByRole("tab", { name: "Form" }).press("ArrowRight");
      const yaml = page.getByLabel("Inputs as YAML");
      assert.match(await yaml.inputValue(), /value: nginx:1.27.*value: eu\n.*value: a,c\n/s);
      await yaml.fill((await yaml.inputValue()).replace("nginx:1.27", "apache:2.4"));
      await page.getByRole("tab", { name: "YAML" }).press("ArrowLeft");
      await page.getByText("from the YAML").first().waitFor();
      await page.waitForFunction(() => document.querySelector("input[aria-required=true]").value === "apache:2.4");
      const before = (await server.ask("GET", `/v1/executions?org=default&project=default_project&pipeline=asking`))
        .executions.length;
      await page.getByRole("button", { name: "Run" }).dblclick();
      await page.getByRole("heading", { name: `Asking #${before + 1}` }).waitFor();
      await page.getByRole("log").getByText("image apache:2.4 in eu").waitFor();
      const after = (await server.ask("GET", `/v1/executions?org=default&project=default_project&pipeline=asking`))
        .executions.length;
      assert.equal(after, before + 1);
    },
    { colorScheme },
  );
}

on("what isn't YAML, and what a pipeline that asks for nothing asks", async ({ page, login, expect }) => {
  expect(/400 \(Bad Request\)/);
  await login(`${project}/pipelines/asking/run?view=yaml`);
  await page.getByLabel("Inputs as YAML").fill("a: [x");
  await page.getByRole("alert").getByText("not YAML").first().waitFor();
  await page.goto(`${project}/pipelines/broken/run`);
  await page.getByText("It asks for nothing").waitFor();
});

on("an execution is run again and rolled back by keyboard", async ({ page, login, accessible, expect }) => {
  await login(`/x/${ran.broken.id}`);
  await page.getByRole("button", { name: "Run again…" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "From the first stage that failed", checked: true }).press("ArrowUp");
  await dialog.getByRole("radio", { name: "From the beginning", checked: true }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "broken #2" }).waitFor();
  await page.getByRole("link", { name: "repeats another" }).waitFor();
  await page.getByRole("link", { name: "Compare" }).press("Enter");
  await page.getByText("No other execution of broken has succeeded").waitFor();
  await page.goto(`/x/${ran.done.id}`);
  await page.getByRole("button", { name: "Roll back…" }).press("Enter");
  await dialog.getByRole("button", { name: "Roll back" }).press("Enter");
  await page.getByRole("link", { name: "rolls another back" }).waitFor();
  await page.goto(`/x/${ran.done.id}`);
  expect(/409 \(Conflict\)/);
  await page.getByRole("button", { name: "Roll back…" }).press("Enter");
  await dialog.getByRole("button", { name: "Roll back" }).press("Enter");
  await dialog.getByRole("alert").waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  on(
    `what an execution was started with is shown, and compared with the last success, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await login(`/x/${ran.us.id}`);
      await page.getByText("What it was started with").press("Enter");
      await page.getByRole("region", { name: "Its inputs" }).getByText("value: us").waitFor();
      await page.waitForURL(/inputs=1/);
      assert.deepEqual(await accessible(), []);
      await page.getByRole("link", { name: "Compare" }).press("Enter");
      await page.getByRole("heading", { name: "#1 and #2 of asking" }).waitFor();
      await page.locator("del", { hasText: "value: eu" }).waitFor();
      await page.locator("ins", { hasText: "value: us" }).waitFor();
      await page.getByRole("cell", { name: "say › say" }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.goto(`${project}/pipelines/asking/run?fromExecution=${ran.us.id}`);
      await page.waitForFunction(() => document.querySelector("input[aria-required=true]")?.value === "nginx:1.26");
    },
    { colorScheme },
  );
}

on("a person decides about a failed step", async ({ page, login, accessible }) => {
  const { id } = await server.run("unsure");
  await login(`/x/${id}`);
  await page.getByRole("heading", { name: "It failed. What now?" }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("radio", { name: "Go on as if it had succeeded" }).press("Space");
  await page.getByRole("button", { name: "Decide" }).press("Enter");
  await page.locator("header .status", { hasText: "Succeeded" }).waitFor();
  assert.equal((await server.finished(id)).status, "Success");
});

on("a step that asks when it starts gets its inputs, right ones alone", async ({ page, login, expect, accessible }) => {
  expect(/400 \(Bad Request\)/);
  const { id } = await server.run("late");
  await login(`/x/${id}`);
  await page.getByRole("heading", { name: "It asks for inputs" }).waitFor();
  const field = page.getByRole("textbox", { name: /ticket/ });
  await field.fill("none");
  await page.keyboard.press("Enter");
  await page.locator("[aria-invalid=true]").waitFor();
  assert.deepEqual(await accessible(), []);
  await field.fill("OPS-1");
  await page.keyboard.press("Enter");
  await page.locator("header .status", { hasText: "Succeeded" }).waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  on(
    `home says what waits, runs and has failed, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      const { id } = await server.run("unsure");
      while ((await server.ask("GET", `/v1/executions/${id}`)).status !== "InterventionWaiting");
      await login("/");
      await page.getByRole("heading", { name: "Home" }).waitFor();
      await page
        .getByRole("region", { name: "Failed in the last 24 hours" })
        .getByRole("link", { name: "broken" })
        .waitFor();
      const waits = page.getByRole("region", { name: "Waiting for somebody" });
      await waits.getByRole("link", { name: "flaky" }).waitFor();
      assert.deepEqual(await accessible(), []);
      await waits.getByRole("link", { name: "flaky" }).press("Enter");
      await page.getByRole("heading", { name: "It failed. What now?" }).waitFor();
      await server.ask("POST", `/v1/executions/${id}/abort`);
      await page.goto("/o/default/p/another");
      await page.getByText("Nothing waits, nothing runs").waitFor();
    },
    { colorScheme },
  );
}

on("a list shows what starts as soon as the server tells of it", async ({ page, login }) => {
  const told = page.waitForRequest(/\/v1\/live\?org=default&project=default_project/);
  await login("/o/default/p/default_project/executions?pipeline=late");
  await told;
  const list = /\/v1\/executions\?.*pipeline=late/;
  await page.waitForResponse(list); // the one after the first hint; the next but for a hint comes in 30 seconds
  const { sequence, id } = await server.run("late");
  await page.getByRole("link", { name: `late #${sequence}` }).waitFor({ timeout: 8000 });
  await server.ask("POST", `/v1/executions/${id}/abort`);
  await page
    .getByRole("row", { name: `late #${sequence}` })
    .getByText("Aborted")
    .waitFor({ timeout: 8000 });
});

on("slipway console gives a link that logs in once", async ({ page, context, expect, accessible }) => {
  expect(/401 \(Unauthorized\)/);
  const link = execFileSync(program, ["console", "--server", server.url, "--token", server.token], {
    env: server.env,
    encoding: "utf8",
  }).trim();
  await page.goto(link);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  assert.doesNotMatch(page.url(), /#/);
  await context.clearCookies();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("alert").getByText("opened before").waitFor();
  assert.doesNotMatch(page.url(), /#/);
  assert.deepEqual(await accessible(), []);
});
