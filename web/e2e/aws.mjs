// The console on AWS: internal/e2e runs this against the compiled functions (TestConsoleInABrowserOnAWS), and names
// where they are. Its name keeps it out of what runs against slipway serve.
import assert from "node:assert/strict";
import { suite } from "./browser.mjs";
import { client, pipeline, script, stage } from "./server.mjs";

const at = "/o/default/p/default_project";
const { SLIPWAY_AT, SLIPWAY_TOKEN } = process.env;
const approval =
  "{step: {name: ask, identifier: ask, type: HarnessApproval, timeout: 10m, spec: {approvalMessage: 'Release it?', approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}}}}";

let server;
const on = suite(
  async (started) => {
    server = started;
    await server.save(
      pipeline("gated", [stage("s", [script("build", "echo built"), approval, script("tell", "echo told")])]),
    );
  },
  async () => ({ ...client(SLIPWAY_AT, SLIPWAY_TOKEN), stop: async () => undefined }),
);

/** listening counts the sockets of a page and what they hear. */
function listening(page) {
  const heard = { sockets: 0, hints: 0 };
  page.on("websocket", (socket) => {
    heard.sockets++;
    socket.on("framereceived", () => heard.hints++);
  });
  return heard;
}

on("a pipeline is run, followed over a socket, and approved", async ({ page, login, accessible }) => {
  const heard = listening(page);
  let streams = 0;
  page.on("request", (r) => {
    if (/\/v1\/live$|\/events$/.test(new URL(r.url()).pathname)) streams++;
  });
  await login(`${at}/pipelines/gated/run`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/x\//);
  await page.getByText("Release it?").waitFor();
  assert.deepEqual(await accessible(), []);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("header .status", { hasText: "Succeeded" }).waitFor();
  await page.getByRole("treegrid").getByText("tell", { exact: true }).click();
  await page.getByRole("log").getByText("told").waitFor();
  assert.ok(heard.sockets > 0 && heard.hints > 0, `heard ${JSON.stringify(heard)}`);
  assert.equal(streams, 0, "it asks for streams that nobody stays for");
});

on(
  "a list hears of what others start, and where sockets can't be opened it is read again",
  async ({ page, login, context }) => {
    const heard = listening(page);
    await login(`${at}/executions`);
    await page.getByRole("row").nth(1).waitFor();
    const { id, sequence } = await server.run("gated");
    await page.getByRole("row", { name: new RegExp(`Waiting for approval gated #${sequence}\\b`) }).waitFor();
    assert.ok(heard.hints > 0, "no hint came");
    await server.ask("POST", `/v1/executions/${id}/abort`);
    await page.getByRole("row", { name: new RegExp(`Aborted gated #${sequence}\\b`) }).waitFor();

    await context.route(/\/v1\/live\/tickets/, (r) =>
      r.fulfill({ status: 429, json: { code: "TOO_MANY_REQUESTS", message: "no" } }),
    );
    const other = await context.newPage();
    other.setDefaultTimeout(60_000);
    await other.goto(`${at}/executions`);
    await other.getByRole("row").nth(1).waitFor();
    const next = await server.run("gated");
    await other.getByRole("row", { name: new RegExp(`#${next.sequence}\\b`) }).waitFor();
    await server.ask("POST", `/v1/executions/${next.id}/abort`);
    await other.close();
  },
);
