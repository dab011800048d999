// What policies came to, and where the audit trail is streamed to.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { suite } from "./browser.mjs";
import { pipeline, script, stage } from "./server.mjs";

const at = "/o/default/p/default_project";
const empty = "/o/default/p/quiet";
let server;
let siem;
const viewer = {};

const on = suite(async (started) => {
  server = started;
  siem = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200).end());
  });
  await new Promise((resolve) => siem.listen(0, "127.0.0.1", resolve));
  siem.unref();
  const save = (yaml, query = "") => server.ask("PUT", `/v1/entities${query}`, yaml, "application/yaml");
  await save("user: {identifier: ada, name: Ada, email: ada@example.com}\n");
  await save("project: {identifier: quiet, name: Quiet, orgIdentifier: default}\n", "?org=default");
  await save(
    "secret: {name: Key, identifier: siem_key, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: k}}\n",
  );
  const url = `http://127.0.0.1:${siem.address().port}/`;
  for (const [id, status, where] of [
    ["siem", "ACTIVE", url],
    ["later", "INACTIVE", url],
    ["broken", "ACTIVE", "http://127.0.0.1:1/"],
  ])
    await save(
      `streamingDestination: {identifier: ${id}, name: To ${id}, status: ${status}, spec: {type: HTTP, url: "${where}", secretRef: account.siem_key}}\n`,
    );
  await server.save(
    'policy: {identifier: named, name: Named, rego: "package pipeline\\n\\ndeny[msg] {\\n  input.pipeline.name == \\"bad\\"\\n  msg := \\"no pipeline is called <b>bad</b>\\"\\n}\\n"}\n',
  );
  await server.save(
    "policySet: {identifier: house, name: House, type: pipeline, action: onsave, enabled: true, policies: [{identifier: named, severity: error}]}\n",
  );
  await server.save(pipeline("bad", [stage("s", [script("a", "true")])])).then(
    () => assert.fail("the policy denies nothing"),
    (e) => assert.match(String(e), /<b>bad<\/b>/),
  );
  Object.assign(
    viewer,
    await server.ask("POST", "/v1/tokens", JSON.stringify({ kind: "user", name: "ada", user: "ada" })),
  );
});

for (const colorScheme of ["light", "dark"])
  on(
    `what policies came to is listed and shown with its input, by keys, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await login(`${at}/policies`);
      await page.getByRole("link", { name: "Evaluations" }).press("Enter");
      await page.getByRole("heading", { name: "Policy evaluations", level: 1 }).waitFor();
      const row = page.getByRole("row", {
        name: /Denied pipeline "bad" in .*, onsave no pipeline is called <b>bad<\/b>/,
      });
      await row.waitFor();
      assert.deepEqual(await accessible(), []);
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: /^Evaluation e/, level: 1 }).waitFor();
      await page.getByRole("row", { name: /named house Denied no pipeline is called/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Input" }).click();
      await page.getByRole("region", { name: "The input" }).getByText('"name": "bad"').waitFor();
      assert.deepEqual(await accessible(), []);
    },
    { colorScheme },
  );

on(
  "a filter of evaluations says what it looks for, and where there are none the page says so",
  async ({ page, login, expect }) => {
    await login(`${empty}/evaluations`);
    await page.getByText("No policy was asked here").waitFor();
    await page.goto(`${at}/evaluations?q=nothing`);
    await page.getByText(/0 of the \d+ evaluations match nothing/).waitFor();
    await page.getByRole("button", { name: "Clear" }).press("Enter");
    await page.getByRole("row", { name: /Denied/ }).waitFor();
    expect(/404/);
    await page.getByLabel("In the execution").fill("xnone");
    await page.getByLabel("In the execution").press("Enter");
    await page.getByRole("alert").getByText("There is nothing here").waitFor();
    await page.goto(`${at}/evaluations/enone`);
    await page.getByRole("alert").getByText("There is nothing here").waitFor();
  },
);

/** streamed waits until the trail has been streamed, which is so once a minute. */
async function streamed() {
  for (;;) {
    const { destinations } = await server.ask("GET", "/v1/audit/destinations");
    if (destinations.some((d) => d.identifier === "siem" && d.sequence > 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

for (const colorScheme of ["light", "dark"])
  on(
    `destinations of the audit trail say how far it has come, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await streamed();
      await login(`${at}/audit`);
      await page.getByRole("link", { name: "Streaming destinations" }).press("Enter");
      await page.getByRole("row", { name: /To later HTTP Paused none/ }).waitFor();
      await page.getByRole("row", { name: /To siem HTTP Active \d+/ }).waitFor();
      await page.getByRole("row", { name: /To broken HTTP Failing none .*127\.0\.0\.1:1/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("link", { name: "To broken" }).press("Enter");
      await page.getByRole("heading", { name: "To broken", level: 1 }).waitFor();
      await page.getByText("Failing since").waitFor();
      await page.getByRole("link", { name: "Edit" }).waitFor();
      assert.deepEqual(await accessible(), []);
    },
    { colorScheme },
  );

on(
  "who may not see them reads which right is missing, and what lives elsewhere says where",
  async ({ page, login, expect }) => {
    expect(/403 \(Forbidden\)/);
    await login("/audit/destinations", viewer.secret);
    await page.getByRole("alert").getByText("You may not see this").waitFor();
    await page
      .getByRole("alert")
      .getByText(/core_streamingDestination_view/)
      .waitFor();
    await page.goto(`${at}/evaluations`);
    await page
      .getByRole("alert")
      .getByText(/core_governancePolicySets_view/)
      .waitFor();
    await page.goto(`${at}/audit/destinations`);
    await page.getByRole("link", { name: "Those of Account" }).waitFor();
  },
);
