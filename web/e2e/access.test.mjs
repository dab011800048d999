import assert from "node:assert/strict";
import { suite } from "./browser.mjs";

let server;
const at = "/o/default/p/default_project";
const viewer = {};

const on = suite(async (started) => {
  server = started;
  const save = (yaml, query = "") => server.ask("PUT", `/v1/entities${query}`, yaml, "application/yaml");
  await save("user: {identifier: ada, name: Ada, email: ada@example.com}\n");
  await save("user: {identifier: bob, name: Bob, email: bob@example.com, disabled: true}\n");
  await server.save("userGroup: {identifier: team, name: Team, userEmails: [ada@example.com, bob@example.com]}\n");
  await server.save(
    "role: {identifier: runner, name: Runner, permissions: [core_pipeline_view, core_pipeline_execute]}\n",
  );
  await server.save(
    "roleAssignment: {identifier: team, roleIdentifier: runner, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER_GROUP, identifier: team}}\n",
  );
  await server.save(
    "roleAssignment: {identifier: looks, roleIdentifier: _project_viewer, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER, identifier: ada}}\n",
  );
  await server.save(
    'policy: {identifier: named, name: Named, rego: "package pipeline\\n\\ndeny[msg] {\\n  input.pipeline.name == \\"\\"\\n  msg := \\"no\\"\\n}\\n"}\n',
  );
  await server.save(
    "policySet: {identifier: house, name: House, type: pipeline, action: onsave, enabled: true, policies: [{identifier: named, severity: error}]}\n",
  );
  for (const id of ["Engine", "English"])
    await server.save(
      `service: {identifier: ${id.toLowerCase()}, name: ${id}, serviceDefinition: {type: Kubernetes, spec: {}}}\n`,
    );
  Object.assign(
    viewer,
    await server.ask("POST", "/v1/tokens", JSON.stringify({ kind: "user", name: "ada", user: "ada" })),
  );
});

for (const colorScheme of ["light", "dark"])
  on(
    `who may do what is listed, shown and deleted after a question, in the ${colorScheme}`,
    async ({ page, login, accessible, expect }) => {
      await login(`${at}/access`);
      await page.getByRole("link", { name: "Role assignments" }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("link", { name: "Roles", exact: true }).press("Enter");
      await page
        .getByRole("row", { name: "_project_admin" })
        .getByText(/^\d+ permissions$/)
        .waitFor();
      await page.getByRole("row", { name: /Runner runner 2 permissions/ }).waitFor();
      await page.getByText("1 permission", { exact: true }).first().press("Enter");
      assert.deepEqual(await accessible(), []);
      await page.getByRole("link", { name: "Runner" }).press("Enter");
      await page.getByRole("listitem").filter({ hasText: "core_pipeline_execute" }).waitFor();
      await page.getByRole("button", { name: "Delete" }).press("Enter");
      const dialog = page.getByRole("dialog", { name: "Delete the role runner?" });
      await dialog.getByRole("link", { name: "team" }).waitFor();
      assert.deepEqual(await accessible(), []);
      expect(/409 \(Conflict\)/);
      await dialog.getByRole("button", { name: "Delete" }).press("Enter");
      await dialog.getByRole("alert").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
      await page.getByRole("heading", { name: "Runner", level: 1 }).waitFor();
    },
    { colorScheme },
  );

on("assignments, groups, policies and their sets say what they hold", async ({ page, login, accessible }) => {
  await login(`${at}/access/assignments`);
  await page.getByRole("row", { name: /team .*user group team runner _all_project_level_resources/ }).waitFor();
  await page
    .getByRole("navigation", { name: "Lists beside this one" })
    .getByRole("link", { name: "User groups" })
    .click();
  await page.getByRole("row", { name: /Team team 2 members/ }).waitFor();
  await page.getByRole("link", { name: "Team" }).click();
  await page.getByText("bob@example.com", { exact: true }).waitFor();
  await page.goto(`${at}/policies`);
  await page.getByRole("link", { name: "Policy sets" }).click();
  await page.getByRole("row", { name: /House house pipeline onsave 1 policy enabled/ }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("link", { name: "House" }).click();
  await page.getByText("named: error").waitFor();
  await page.goto("/access/users");
  await page.getByRole("row", { name: /Bob bob bob@example.com disabled/ }).waitFor();
  await page.goto(`${at}/access/users`);
  await page.getByRole("link", { name: "Those of Account" }).click();
  await page.getByRole("row", { name: /Ada ada ada@example.com/ }).waitFor();
});

on(
  "the pages of access, policies and audit, and the search, as docs/console.md shows them",
  async ({ page, login, picture }) => {
    const pages = [
      ["users", "/access/users", "Ada"],
      ["groups", `${at}/access/groups`, "Team"],
      ["roles", `${at}/access/roles`, "Runner"],
      ["policies", `${at}/policies`, "Named"],
      ["audit", `${at}/audit`, "policySet"],
    ];
    await login(pages[0][1]);
    for (const [name, path, row] of pages) {
      await page.goto(path);
      await page.getByRole("row").filter({ hasText: row }).first().waitFor();
      await picture(name);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /What it begins with/ }).fill("eng");
    await page.getByRole("option", { name: /^English service/ }).waitFor();
    await picture("search");
  },
  { viewport: { width: 1120, height: 600 } },
);

on("a project is made and deleted, and a full one says what is left", async ({ page, login, accessible }) => {
  await login("/o/default/access/projects");
  await page.getByRole("link", { name: "default_project" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  const full = page.getByRole("dialog", { name: "Delete the project default_project?" });
  await full.getByText(/it has role runner/).waitFor();
  assert.deepEqual(await accessible(), []);
  await full.getByRole("button", { name: "Cancel" }).click();
  await page.goto("/o/default/access/projects");
  await page.getByRole("link", { name: "New project" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Edit New project" }).waitFor();
  await page.getByRole("link", { name: "Projects of default" }).click();
  await page.getByRole("link", { name: "New project" }).first().waitFor();
  await page
    .getByRole("row", { name: /new_project/ })
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: "Delete" }).click();
  const empty = page.getByRole("dialog", { name: "Delete the project new_project?" });
  await empty.getByText("Nothing that you may see names it.").waitFor();
  await empty.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
  await page.getByRole("row", { name: /default_project/ }).waitFor();
  await page.getByRole("row", { name: /new_project/ }).waitFor({ state: "detached" });
});

on("who may not is told why; whoever may asks what others may", async ({ page, login, accessible }) => {
  await login(`${at}/access/roles/runner`, viewer.secret);
  const button = page.getByRole("button", { name: /^Delete ?: You may not: it needs the right core_role_/ });
  await button.waitFor();
  assert.equal(await button.isDisabled(), true);
  await page.getByRole("button", { name: /^Edit ?: You may not/ }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await login(`${at}/access`);
  await page.getByLabel("Identifier").fill("ada");
  await page.getByLabel("Action", { exact: true }).fill("pipeline.run");
  await page.keyboard.press("Enter");
  await page.getByText("Yes: ada may pipeline.run in default / default_project, by the assignment").waitFor();
  await page.getByLabel("Action", { exact: true }).fill("entity.save");
  await page.getByLabel("Kind, of entity actions").fill("role");
  await page.keyboard.press("Enter");
  await page.getByText(/No: ada may not entity\.save role .*core_role_/).waitFor();
  assert.deepEqual(await accessible(), []);
});

on("a name's beginning leads to a page or a document, by keys alone", async ({ page, login, accessible }) => {
  await login(`${at}/access`);
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /What it begins with/ });
  await field.waitFor();
  await field.fill("fre");
  await page.getByRole("option", { name: "Freezes page", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Freezes", level: 1 }).waitFor();
  await page.locator("h1").focus();
  await page.keyboard.press("Control+k");
  await field.fill("engine");
  await page.getByRole("option", { name: /^Engine service engine of default/ }).waitFor();
  assert.deepEqual(await accessible(), []);
  await field.fill("eng");
  const second = page.getByRole("option", { name: /^English service/ });
  await second.waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("option", { name: /^English service/, selected: true }).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Engine", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Go to…" }).click();
  await field.fill("nothing such");
  await page.getByText("Nothing begins with nothing such.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

for (const colorScheme of ["light", "dark"])
  on(
    `settings say where they come from, and are set and unset by keys, in the ${colorScheme}`,
    async ({ page, login, accessible, expect }) => {
      await login("/settings");
      await page.getByRole("row", { name: /sessionAbsolute .* 1d nobody sets it/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("button", { name: "Set sessionAbsolute" }).press("Enter");
      let dialog = page.getByRole("dialog", { name: "sessionAbsolute of Account" });
      await dialog.getByLabel("sessionAbsolute").fill("1m");
      assert.deepEqual(await accessible(), []);
      expect(/400 \(Bad Request\)/);
      await dialog.getByRole("button", { name: "Set sessionAbsolute" }).press("Enter");
      await dialog
        .getByRole("listitem")
        .getByText(/found "1m"; want from 1h to 3d/)
        .waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).press("Enter");

      await page.getByRole("button", { name: "Set banner", exact: true }).press("Enter");
      dialog = page.getByRole("dialog", { name: "banner of Account" });
      await dialog.getByLabel("text").fill('Down: <b>Sunday</b>, 8 to "9"');
      await dialog.getByLabel("level").selectOption("warning");
      await dialog.getByRole("button", { name: "Set banner", exact: true }).press("Enter");
      await page.locator(".banner.told.warning").getByText('Down: <b>Sunday</b>, 8 to "9"').waitFor();
      await page.getByRole("button", { name: "Set maxTokenLifetime", exact: true }).press("Enter");
      dialog = page.getByRole("dialog", { name: "maxTokenLifetime of Account" });
      await dialog.getByLabel("maxTokenLifetime").fill("90d");
      await dialog.getByRole("button", { name: "Set maxTokenLifetime", exact: true }).press("Enter");
      await page.getByRole("row", { name: /maxTokenLifetime .* 90d Account/ }).waitFor();

      await page.goto(`${at}/settings`);
      await page
        .locator(".banner.told")
        .getByText(/Sunday/)
        .waitFor();
      await page.getByRole("row", { name: /banner .*The account's settings alone have it/ }).waitFor();
      await page.getByRole("button", { name: "Set maxTokenLifetime", exact: true }).press("Enter");
      dialog = page.getByRole("dialog", { name: "maxTokenLifetime of default / default_project" });
      await dialog.getByLabel("maxTokenLifetime").fill("100d");
      await dialog.getByRole("button", { name: "Set maxTokenLifetime", exact: true }).press("Enter");
      await dialog
        .getByRole("listitem")
        .getByText(/found 100d, which is looser than the 90d that is set above/)
        .waitFor();
      await dialog.getByLabel("maxTokenLifetime").fill("30d");
      await dialog.getByRole("button", { name: "Set maxTokenLifetime", exact: true }).press("Enter");
      const row = page.getByRole("row", {
        name: /maxTokenLifetime .* 30d default \/ default_project Account: 90d default \/ default_project: 30d/,
      });
      await row.waitFor();
      assert.deepEqual(await accessible(), []);
      const { yaml, version } = await server.ask(
        "GET",
        "/v1/entities/setting/settings?org=default&project=default_project",
      );
      assert.match(yaml, /^setting:\n {2}name: Settings\n {2}identifier: settings\n/);
      await page.getByRole("link", { name: "Edit" }).press("Enter");
      await page.getByText(`Version ${version}`).waitFor();
      await page
        .getByRole("navigation", { name: "Where this is" })
        .getByRole("link", { name: /Settings of default/ })
        .click();

      await page.getByRole("button", { name: "Unset maxTokenLifetime" }).press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Unset maxTokenLifetime" }).press("Enter");
      await page.getByRole("row", { name: /maxTokenLifetime .* 90d Account Account: 90d/ }).waitFor();
      await page.getByRole("link", { name: "account's settings" }).first().click();
      for (const name of ["banner", "maxTokenLifetime"]) {
        await page.getByRole("button", { name: `Unset ${name}` }).press("Enter");
        await page
          .getByRole("dialog")
          .getByRole("button", { name: `Unset ${name}` })
          .press("Enter");
        await page.getByRole("button", { name: `Unset ${name}` }).waitFor({ state: "detached" });
      }
      await page.locator(".banner.told").waitFor({ state: "detached" });
    },
    { colorScheme },
  );

on("who may not change settings reads which right is missing", async ({ page, login }) => {
  await login(`${at}/settings`, viewer.secret);
  const set = page.getByRole("button", { name: /^Set maxTokenLifetime ?: You may not: .*core_setting_edit/ });
  await set.waitFor();
  assert.ok(await set.isDisabled());
});
