import assert from "node:assert/strict";
import { suite } from "./browser.mjs";
import { pipeline, script, stage } from "./server.mjs";

let server;
const ran = {};
const list = "/o/default/p/default_project/executions";

const on = suite(async (started) => {
  server = started;
  const hostile = "<img src=x onerror=alert(1)>";
  const link = "\\033]8;;javascript:alert(1)\\033\\\\press\\033]8;;\\033\\\\";
  await server.save(
    pipeline("good", [
      stage("build", [
        script(
          "hello",
          `printf '\\033[31mred\\033[0m and plain\\n'; echo '${hostile}'; printf '${link}\\n'; seq 1 3000`,
        ),
      ]),
    ]),
  );
  await server.save(
    pipeline("broken", [
      stage("first", [script("fine", "echo all is well")]),
      `{parallel: [${stage("left", [script("works", "echo works")])}, ${stage("right", [script("compile", "seq 1 200; sleep 0.2; echo 'main.c: x is not declared' >&2; sleep 0.2; seq 1 900; exit 3"), script("never", "echo never")])}]}`,
    ]),
  );
  await server.save(pipeline("slow", [stage("wait", [script("sleep", "echo begun; sleep 600")])]));
  await server.save(
    pipeline("gated", [
      "{stage: {name: gate, identifier: gate, type: Approval, spec: {execution: {steps: [{step: {name: ask, identifier: ask, type: HarnessApproval, timeout: 1d, spec: {approvalMessage: 'Release <+pipeline.name> to everybody?', approvers: {minimumCount: 1, disallowPipelineExecutor: false, userGroups: [account._account_all_users]}, approverInputs: [{name: ticket, required: true, regex: '[A-Z]+-[0-9]+'}, {name: where, defaultValue: eu, selectOneFrom: [eu, us]}]}}}]}}}}",
    ]),
  );
  for (const id of ["good", "broken"]) ran[id] = await server.finished((await server.run(id)).id);
});

on(
  "a token opens a session, at the page that was asked for, and a log-out ends it",
  async ({ page, login, expect, accessible, context }) => {
    expect(/401 \(Unauthorized\)/);
    await page.goto(list);
    await page.getByLabel("Token").fill("pat.default.x.y");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page
      .getByText("The token isn't known or was revoked".toLowerCase())
      .or(page.getByText("the token isn't known"))
      .first()
      .waitFor();
    assert.deepEqual(await accessible(), []);
    await login(list);
    await page.getByRole("heading", { name: "Deployments" }).waitFor();
    assert.equal(new URL(page.url()).pathname, list);
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.path], ["slipway", true, "Lax", "/"]);
    assert.match(cookie.value, /^ses\./);
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    const old = await fetch(`${server.url}/v1/whoami`, { headers: { Cookie: `slipway=${cookie.value}` } });
    assert.equal(old.status, 401);
  },
);

for (const colorScheme of ["light", "dark"]) {
  on(
    `deployments are listed, and filtered by the address, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await login(list);
      await page.getByRole("link", { name: "broken #1" }).waitFor();
      assert.equal(await page.title(), "Deployments · Slipway");
      assert.deepEqual(await accessible(), []);
      await page.getByLabel("Status").selectOption({ label: "Stopped by a freeze" });
      await page.getByText("No deployment matches: status Stopped by a freeze.").waitFor();
      assert.match(page.url(), /status=AbortedByFreeze/);
      await page.reload();
      await page.getByText("No deployment matches").waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByRole("link", { name: "good #1" }).waitFor();
      await page.locator("body").press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "broken #1" }).waitFor();
    },
    { colorScheme },
  );

  on(
    `a failed execution says first why it failed, in the ${colorScheme}`,
    async ({ page, login, accessible }) => {
      await login(`/x/${ran.broken.id}`);
      await page.getByRole("heading", { name: "Why did it fail?" }).waitFor();
      await page.getByRole("button", { name: "right › compile" }).waitFor();
      await page.getByRole("group", { name: "The end of its log" }).getByText("main.c: x is not declared").waitFor();
      const log = page.getByRole("log");
      await log.getByText("main.c: x is not declared").waitFor();
      assert.equal(
        await page
          .locator("[role=row][aria-selected=true]")
          .innerText()
          .then((t) => t.includes("compile")),
        true,
      );
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Details" }).click();
      await page.getByText("Identifier").waitFor();
      assert.match(page.url(), /tab=details/);
      assert.deepEqual(await accessible(), []);
    },
    { colorScheme },
  );
}

on("the tree is gone through by keys, and a node and a line have addresses", async ({ page, login }) => {
  await login(`/x/${ran.broken.id}`);
  await page.locator("[role=row][aria-selected=true]").focus();
  await page.keyboard.press("Home");
  await page.locator("[role=row]:focus", { hasText: "first" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("all is well").waitFor();
  const number = page.getByRole("log").getByText("all is well").locator("..").locator("a.number");
  await number.click();
  await page.waitForURL(/line=\d+/);
  const address = page.url();
  await page.goto(list);
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  await page.goto(address);
  await page.locator(".marked", { hasText: "all is well" }).waitFor();
});

on("what a log holds is shown as text in its colours, and drawn where it is in sight", async ({ page, login }) => {
  await login(`/x/${ran.good.id}`);
  const log = page.getByRole("log");
  await log.getByText("3000", { exact: true }).waitFor();
  assert.ok((await log.locator(".line").count()) < 200);
  await page.getByLabel("Search in this log").fill("onerror");
  await page.getByText("1 of 1").waitFor();
  await page.getByLabel("Search in this log").press("Enter");
  await log.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await log.locator("img").count(), 0);
  assert.equal(await log.locator("a[href^='javascript']").count(), 0);
  assert.equal(await log.locator(".fg-c1").first().innerText(), "red");
});

on("the lines before a log's end come without moving what is read of it", async ({ page, login, context }) => {
  let go;
  const held = new Promise((resolve) => {
    go = resolve;
  });
  await context.route(/\/log\?from=0/, async (r) => {
    await held;
    await r.continue();
  });
  await login(`/x/${ran.good.id}`);
  const log = page.getByRole("log");
  const says = (text) => log.locator(".line", { hasText: new RegExp(`${text}$`) }); // after its number, if it has one
  await says(3000).waitFor();
  await log.hover();
  await page.mouse.wheel(0, -3600);
  const line = says(2810);
  await line.waitFor();
  const { y } = await line.boundingBox();
  go();
  await page.locator("[role=log][aria-busy=false]").waitFor();
  const moved = (await line.boundingBox()).y - y;
  assert.ok(Math.abs(moved) < 2, `moved by ${moved}`);
  await page.locator("[role=log]").press("Home");
  await log.getByText("red", { exact: true }).waitFor();
});

on("a running execution is followed, and aborted after a question", async ({ page, login }) => {
  const { id } = await server.run("slow");
  await login(`/x/${id}`);
  await page.getByRole("log").getByText("begun").waitFor();
  await page.getByRole("button", { name: "Abort" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Abort" }).click();
  await page.locator("header .status", { hasText: "Aborted" }).waitFor();
  assert.equal((await server.finished(id)).status, "Aborted");
  assert.equal(await page.getByRole("button", { name: "Abort" }).isDisabled(), true);
});

on("where the server follows nothing, an execution is read again until it ends", async ({ page, login, context }) => {
  let streams = 0;
  await context.route(/\/v1\/executions\/[^/]+\/events$/, (r) => {
    streams++;
    return r.fulfill({ contentType: "text/event-stream", body: 'event: poll\ndata: {"seconds":1}\n\n' });
  });
  const { id } = await server.run("slow");
  await login(`/x/${id}`);
  await page.getByRole("log").getByText("begun").waitFor();
  await server.ask("POST", `/v1/executions/${id}/abort`);
  await page.locator("header .status", { hasText: "Aborted" }).waitFor();
  assert.equal(streams, 1);
  await context.unroute(/\/v1\/executions\/[^/]+\/events$/);
});

on(
  "what waits for approval says what is asked, and is approved with what it asks for",
  async ({ page, login, expect, accessible }) => {
    expect(/400 \(Bad Request\)/);
    const { id } = await server.run("gated");
    await login(`/x/${id}`);
    await page.getByText("Release gated to everybody?").waitFor();
    assert.deepEqual(await accessible(), []);
    await page.getByLabel("ticket").fill("none");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("alert").getByText("ticket").waitFor();
    await page.getByLabel("ticket").fill("OPS-1");
    await page.getByLabel("where", { exact: true }).selectOption("us");
    await page.getByLabel("Comment").fill("seen by both");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator("header .status", { hasText: "Succeeded" }).waitFor();
    await page.getByText(/Approved by .*: seen by both/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Reject" }).count(), 0);
  },
);

on("a session that ends is opened again over the page", async ({ page, login, expect, context }) => {
  expect(/401 \(Unauthorized\)/);
  await login(list);
  await context.clearCookies();
  await page.getByLabel("Status").selectOption("Expired");
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.getByLabel("Token").fill(server.token);
  await dialog.getByRole("button", { name: "Log in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("No deployment matches").waitFor();
});

on(
  "what isn't there, and a server that is away, are told of with a way on",
  async ({ page, login, expect, context, accessible }) => {
    expect(/404 \(Not Found\)/);
    await login("/x/none");
    await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    assert.deepEqual(await accessible(), []);
    await page.goto("/nowhere");
    await page.getByRole("heading", { name: "No such page" }).waitFor();
    await page.clock.install();
    await page.goto(list);
    await page.getByRole("link", { name: "good #1" }).waitFor();
    expect(/net::ERR/);
    await context.route("**/v1/executions?*", (r) => r.abort());
    await page.getByLabel("Status").selectOption("Expired");
    const away = page.getByRole("heading", { name: "The server can't be reached" });
    await passing(page, away.or(page.getByText("the list may be old")).first());
    await context.unroute("**/v1/executions?*");
    await passing(page, page.getByText("No deployment matches"));
  },
);

/** passing lets a page's time go by until it shows something: what it waits for are its own pauses. */
async function passing(page, shown) {
  while (!(await shown.isVisible())) await page.clock.runFor(500);
}

on(
  "it all fits a narrow screen",
  async ({ page, login }) => {
    for (const path of [list, `/x/${ran.broken.id}`]) {
      await login(path).catch(() => page.goto(path));
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("broken").first().waitFor();
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${path} scrolls sideways`,
      );
      break;
    }
  },
  { viewport: { width: 320, height: 700 } },
);
