import assert from "node:assert/strict";
import { suite } from "./browser.mjs";
import { pipeline, script, stage } from "./server.mjs";

let server;
const at = "/o/default/p/default_project";
const scope = "org=default&project=default_project";

/** What the browser says of texts that the server finds something wrong with. */
const invalid = /400 \(Bad Request\).*entities:validate/;

/** What a pipeline is saved as. */
const saved = async (id) => (await server.ask("GET", `/v1/entities/pipeline/${id}?${scope}`)).yaml;

const commented = `pipeline:
  name: Press # as it is called in the hall
  identifier: press
  orgIdentifier: default
  projectIdentifier: default_project
  stages:
    # the first
    - stage:
        name: Print
        identifier: print
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  name: Ink
                  identifier: ink
                  type: ShellScript
                  timeout: 10m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source:
                      type: Inline
                      spec:
                        script: |-
                          echo one
                          echo two
              - step: {name: Dry, identifier: dry, type: Wait, spec: {duration: 1m}} # a while
    - stage:
        name: Ship
        identifier: ship
        type: Custom
        spec:
          execution:
            steps:
              - step: {name: Pack, identifier: pack, type: Wait, spec: {duration: 2m}}
`;

const on = suite(async (started) => {
  server = started;
  await server.save(commented);
  await server.save(pipeline("steady", [stage("a", [script("b", "true")])]));
});

/** text is the editor of a page. */
const text = (page) => page.getByRole("textbox", { name: /as YAML/ });

/** find goes to a place by the editor's own search. */
async function find(page, what) {
  await text(page).focus();
  await page.keyboard.press("Control+f");
  await page.keyboard.type(what);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
}

/** put types behind the line in which something stands. */
async function put(page, after, typed) {
  await find(page, after);
  await page.keyboard.press("End");
  await page.keyboard.type(typed);
}

on("a pipeline is edited, checked by the server, and saved by keys", async ({ page, login, accessible, expect }) => {
  expect(invalid);
  await login(`${at}/pipelines/press`);
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("heading", { name: "Edit Press", level: 1 }).waitFor();
  await page.getByText("Nothing is wrong with it").waitFor();
  assert.deepEqual(await accessible(), []);
  await put(page, "duration: 2m", "}}"); // two brackets too many
  await page.getByText(/^\d errors?/).waitFor();
  await page.getByRole("region", { name: "Findings" }).getByRole("button").first().waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("It can't be saved like this.").waitFor();
  await page.keyboard.press("Control+z");
  await put(page, "name: Ship", "ment");
  await page.getByText("Nothing is wrong with it").waitFor();
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Save Press?" });
  await dialog.getByRole("region", { name: "What changes" }).getByText("+        name: Shipment").waitFor();
  assert.deepEqual(await accessible(), []);
  await page.keyboard.press("Enter");
  await page.getByText("Saved as version 2").waitFor();
  assert.equal(await saved("press"), commented.replace("name: Ship\n", "name: Shipment\n"));
  // Escape opens the way out that Tab has closed.
  await text(page).focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.equal(await text(page).evaluate((t) => t.getRootNode().activeElement === t), false);
});

on(
  "a type that no step has is found where it stands, and what isn't saved outlives a reload",
  async ({ page, login, accessible, expect }) => {
    expect(invalid);
    page.on("dialog", (d) => d.accept());
    await login(`${at}/edit/pipeline?id=steady`);
    await text(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("# mine");
    await page.getByText("Not saved", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("What you hadn't saved is here again.").waitFor();
    await text(page).getByText("# mine").waitFor();
    await page.getByRole("link", { name: "Connectors" }).click();
    const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
    assert.deepEqual(await accessible(), []);
    await dialog.getByRole("button", { name: "Stay" }).click();
    await page.getByRole("button", { name: "Drop it" }).click();
    await page.getByText("Version 1", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Connectors" }).click();
    await page.getByRole("heading", { name: "Connectors", level: 1 }).waitFor();
    await page.goto(`${at}/pipelines`);
    await page.getByRole("link", { name: "New pipeline" }).click();
    await page.getByText("Not saved yet").waitFor();
    await page.getByText("Nothing is wrong with it").waitFor();
    await put(page, "type: ShellScript", "s");
    const found = page.getByRole("region", { name: "Findings" }).getByRole("button", { name: /ShellScripts/ });
    await found.waitFor();
    await found.click();
    assert.deepEqual(await accessible(), []);
    await page.keyboard.press("Control+z");
    await page.getByText("Nothing is wrong with it").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Edit New pipeline", level: 1 }).waitFor();
    assert.match(page.url(), /edit\/pipeline\?id=new_pipeline/);
    assert.match(await saved("new_pipeline"), /^pipeline:\n {2}name: New pipeline\n/);
  },
  { colorScheme: "dark" },
);

on(
  "what somebody else has saved meanwhile is merged, and nothing is lost",
  async ({ page, login, accessible, expect }) => {
    expect(/409 \(Conflict\).*\/v1\/entities/);
    const doc = commented.replace("Press #", "Bind #").replace("identifier: press", "identifier: bind");
    await server.save(doc);
    await login(`${at}/edit/pipeline?id=bind`);
    await put(page, "name: Ink", "s of mine");
    await put(page, "timeout: 10m", " # mine");
    await server.save(doc.replace("name: Ink", "name: Ink of theirs").replace("name: Ship", "name: Ship of theirs"));
    await page.keyboard.press("Control+s");
    await page.getByRole("dialog", { name: "Save Bind?" }).getByText("# mine").waitFor();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Somebody else has saved it meanwhile" });
    await dialog.getByText("you choose for the others: 1 of 1 to go").waitFor();
    assert.deepEqual(await accessible(), []);
    await dialog.getByRole("region", { name: "Theirs" }).getByText("+        name: Ship of theirs").waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Go on with this" }).isDisabled());
    await dialog.getByRole("radio", { name: "Theirs" }).focus();
    await page.keyboard.press("ArrowDown");
    assert.ok(await dialog.getByRole("radio", { name: "Yours", exact: true }).isChecked());
    await dialog.getByRole("button", { name: "Go on with this" }).click();
    await page.getByText("Nothing is wrong with it").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Save Bind?" }).getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved as version 3").waitFor();
    const both = doc.replace("name: Ink", "name: Inks of mine").replace("timeout: 10m", "timeout: 10m # mine");
    assert.equal(await saved("bind"), both.replace("name: Ship", "name: Ship of theirs"));
  },
);

on(
  "expressions are proposed after <+, of the document and of what is saved",
  async ({ page, login, accessible, expect }) => {
    expect(invalid);
    await server.save(
      "secret: {type: SecretText, name: Password, identifier: password, orgIdentifier: default, projectIdentifier: default_project, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hush}}\n",
    );
    await login(`${at}/edit/pipeline?id=press`);
    await put(page, "echo two", " <+pipeline.st");
    const list = page.getByRole("listbox");
    await list.getByRole("option", { name: /print\.spec\.execution\.steps\.ink\.status.*of the step Ink/ }).waitFor();
    assert.equal(await list.getByRole("option", { name: /env\.type/ }).count(), 0);
    assert.deepEqual(await accessible(), []);
    await page.keyboard.type("ages.ship.sta");
    await list.getByRole("option", { name: /^pipeline\.stages\.ship\.status/ }).waitFor();
    await page.keyboard.press("Enter");
    await text(page).getByText("echo two <+pipeline.stages.ship.status>").waitFor();
    await page.keyboard.type(" <+secr");
    await list.getByRole("option", { name: /secrets\.getValue\("password"\)/ }).click();
    await text(page).getByText('<+pipeline.stages.ship.status> <+secrets.getValue("password")>').waitFor();
  },
);

on(
  "a step moves to another stage with its comment, and one step takes it back",
  async ({ page, login, accessible, expect }) => {
    expect(invalid);
    page.on("dialog", (d) => d.accept());
    await server.save(commented.replace("identifier: press", "identifier: moved")); // others save what they do to Press
    await login(`${at}/edit/pipeline?id=moved`);
    await page.getByRole("treeitem", { name: /^Dry/ }).click();
    await page.getByLabel("Move to the end of").selectOption({ label: "Ship: Steps" });
    assert.deepEqual(await accessible(), []);
    await page.getByRole("button", { name: "Move", exact: true }).press("Enter");
    await page.getByRole("treeitem", { name: /^Dry/ }).waitFor();
    const lines = (await text(page).innerText()).split("\n");
    const dry = lines.findIndex((l) => l.includes("identifier: dry"));
    assert.ok(dry > lines.findIndex((l) => l.includes("identifier: pack")), lines.join("\n"));
    assert.match(lines[dry], /# a while$/);
    await text(page).focus();
    await page.keyboard.press("Control+z");
    const before = (await text(page).innerText()).split("\n");
    assert.ok(
      before.findIndex((l) => l.includes("identifier: dry")) < before.findIndex((l) => l.includes("identifier: ship")),
    );
  },
);

on("keys, words and names are proposed, and explained", async ({ page, login, accessible, expect }) => {
  expect(invalid);
  page.on("dialog", (d) => d.accept());
  await server.save(
    "connector: {name: Shop, identifier: shop, orgIdentifier: default, projectIdentifier: default_project, type: DockerRegistry, spec: {dockerRegistryUrl: 'http://127.0.0.1:1', providerType: Other, auth: {type: Anonymous}}}\n",
  );
  await login(`${at}/edit/pipeline?id=press`);
  await put(page, "identifier: ship", "\ntimeo");
  const list = page.getByRole("listbox");
  await list.getByRole("option", { name: /^timeout/ }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.keyboard.press("Enter");
  await page.keyboard.type("1h");
  await put(page, "identifier: ink", "\nconnectorRef: s");
  await list.getByRole("option", { name: /^shop/ }).click();
  await text(page).getByText("connectorRef: shop").waitFor();
  await text(page).getByText("type", { exact: true }).first().hover();
  await page.getByText(/One of: .*Deployment/).waitFor();
});

on(
  "stages and steps are changed in the graph, and the text keeps all else",
  async ({ page, login, accessible }) => {
    const doc = commented.replace("Press #", "Fold #").replace("identifier: press", "identifier: fold");
    await server.save(doc);
    await login(`${at}/edit/pipeline?id=fold`);
    const tree = page.getByRole("tree", { name: "Stages and steps" });
    const step = (name) => tree.getByRole("treeitem", { name, exact: true });
    await step("Ink ShellScript").click();
    await page.getByRole("region", { name: "Fields of Ink" }).waitFor();
    assert.deepEqual(await accessible(), []);
    await page.getByLabel("timeout", { exact: true }).fill("20m");
    await page.getByLabel("spec.source.spec.script").fill("echo three\necho four");
    await page.keyboard.press("Tab");
    // By keys alone: down to the next step, up past its neighbour, then the stage behind it away.
    await step("Ink ShellScript").focus();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("region", { name: "Fields of Dry" }).waitFor();
    await page.keyboard.press("Alt+ArrowUp");
    await page.keyboard.press("End");
    await page.getByRole("region", { name: "Fields of Pack" }).waitFor();
    await page.getByRole("button", { name: "Add a step after it" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a step" });
    await dialog.getByLabel("Name").fill("Tell them");
    await dialog.getByLabel("Type").fill("Http");
    assert.deepEqual(await accessible(), []);
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Fields of Tell them" }).waitFor();
    await page.getByText("Nothing is wrong with it").waitFor();
    // A place in the text chooses the box.
    await find(page, "identifier: print");
    await page.getByRole("region", { name: "Fields of Print" }).waitFor();
    assert.equal(await step("Print Custom").getAttribute("aria-selected"), "true");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Save Fold?" }).getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved as version 2").waitFor();
    const dry = /^.*identifier: dry.*\n/m.exec(doc)[0];
    const want = doc
      .replace(dry, "")
      .replace("              - step:\n                  name: Ink", `${dry}$&`)
      .replace("timeout: 10m", "timeout: 20m")
      .replace(/echo one(\s+)echo two/, "echo three$1echo four");
    const got = await saved("fold");
    assert.ok(got.startsWith(want), got);
    assert.match(
      got.slice(want.length),
      /^ {14}- step:\n {18}name: Tell them\n {18}identifier: Tell_them\n {18}type: Http\n/,
    );
    await step("Pack Wait").click();
    await step("Pack Wait").focus();
    await page.keyboard.press("Delete");
    await page.getByText("Not saved", { exact: true }).waitFor();
    assert.equal(await step("Pack Wait").count(), 0);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: "Save Fold?" }).getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved as version 3").waitFor();
    assert.equal(await saved("fold"), got.replace(/^.*identifier: pack.*\n/m, ""));
  },
  { colorScheme: "dark" },
);

on(
  "a trigger is begun from its pipeline, and the end of a session takes nothing of it",
  async ({ page, login, accessible, expect, context }) => {
    expect(/401 \(Unauthorized\)/);
    await login(`${at}/pipelines/steady?tab=triggers`);
    await page.getByRole("link", { name: "New trigger" }).click();
    await page.getByText("Nothing is wrong with it").waitFor();
    await put(page, "name: New trigger", " # mine");
    await context.clearCookies();
    await page.keyboard.press("Control+s");
    await page.getByRole("dialog", { name: /^Save/ }).getByRole("button", { name: "Save" }).click();
    const ended = page.getByRole("dialog", { name: "Your session has ended" });
    await ended.getByLabel("Token").fill(server.token);
    await ended.getByRole("button", { name: "Log in", exact: true }).click();
    await ended.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog", { name: /^Save/ }).getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Edit New trigger", level: 1 }).waitFor();
    await page.getByRole("link", { name: "New trigger" }).click();
    await page.getByRole("tab", { name: "Document" }).click();
    await page.getByText("name: New trigger # mine").waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByText("Version 1", { exact: true }).waitFor();
    assert.deepEqual(await accessible(), []);
  },
);

on("who may not save can read, and is told what is missing", async ({ page, login, accessible }) => {
  await server.ask(
    "PUT",
    "/v1/entities",
    "user: {identifier: guest, name: guest, email: guest@example.com}\n",
    "application/yaml",
  );
  await server.ask(
    "PUT",
    "/v1/entities",
    "roleAssignment: {identifier: guests, principal: {type: USER, identifier: guest}, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_resources_including_child_scopes}\n",
    "application/yaml",
  );
  const { secret } = await server.ask("POST", "/v1/tokens", '{"kind": "user", "name": "guest", "user": "guest"}');
  await login(`${at}/pipelines/press`, secret);
  await page.getByRole("button", { name: /^Edit ?: You may not: it needs the right/ }).waitFor();
  assert.deepEqual(await accessible(), []);
  await page.goto(`${at}/edit/pipeline?id=press`);
  await page.getByText("It can be read here.").waitFor();
  await text(page).focus();
  await page.keyboard.type("x");
  await page.keyboard.press("Control+s");
  assert.equal(await page.getByRole("button", { name: /^Save ?: You may not/ }).getAttribute("aria-disabled"), "true");
  assert.equal(await page.getByRole("dialog").count(), 0);
});
