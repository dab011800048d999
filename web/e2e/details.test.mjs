import assert from "node:assert/strict";
import { suite } from "./browser.mjs";
import { pipeline, stage } from "./server.mjs";

let server;
let ran;
const make = "pipeline.stages.build.spec.execution.steps.make";

const on = suite(async (started) => {
  server = started;
  const step = `{step: {name: make, identifier: make, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true,
    environmentVariables: [{name: TOKEN, type: String, value: '<+secrets.getValue("pass")>'}, {name: WHAT, type: String, value: "<+pipeline.name>"}],
    outputVariables: [{name: tag, type: String, value: tag}, {name: leak, type: String, value: leak}, {name: key, type: Secret, value: key}],
    source: {type: Inline, spec: {script: 'tag=1.4.2; leak="x$TOKEN"; key=$(printf %s%s 0p3n sesame)'}}}}}`;
  for (const document of [
    "secret: {identifier: pass, name: pass, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hunter2}}\n",
    pipeline("build", [stage("build", [step])]),
  ])
    await server.save(document);
  ran = await server.finished((await server.run("build")).id);
});

for (const colorScheme of ["light", "dark"])
  on(
    `a step says what it was given and has put out, and never a secret, in the ${colorScheme}`,
    async ({ page, login, accessible, context }) => {
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      const seen = [];
      page.on("response", async (r) => seen.push(await r.text().catch(() => "")));
      await context.addInitScript(() => {
        const write = navigator.clipboard?.writeText.bind(navigator.clipboard);
        if (write)
          navigator.clipboard.writeText = (text) => {
            window.copied = text;
            return write(text);
          };
      });
      await login(`/x/${ran.id}?node=${make}`);
      await page.getByRole("tab", { name: "Log" }).focus();
      await page.keyboard.press("ArrowRight");
      const given = page.getByRole("region", { name: "What it is given" });
      await given.getByText("value: build", { exact: false }).waitFor();
      await page.getByRole("row", { name: /environmentVariables\[0\]\.value .*\*{14}/ }).waitFor();
      assert.match(page.url(), /tab=input/);
      assert.deepEqual(await accessible(), []);
      await page.keyboard.press("ArrowRight");
      const row = page.getByRole("row", { name: /outputVariables\.tag 1\.4\.2/ });
      await row.getByRole("button", { name: "Copy path" }).click();
      await row.getByRole("button", { name: "Copied" }).waitFor();
      assert.equal(await page.evaluate(() => window.copied), `<+${make}.output.outputVariables.tag>`);
      await page.getByRole("row", { name: /outputVariables\.key \*{14}/ }).waitFor();
      await page.getByRole("row", { name: /outputVariables\.leak x\*{14}/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.getByRole("tab", { name: "Outputs" }).focus();
      await page.keyboard.press("ArrowRight");
      await page.getByRole("row", { name: /^1 Succeeded embedded/ }).waitFor();
      assert.deepEqual(await accessible(), []);
      await page.reload();
      await page.getByRole("row", { name: /^1 Succeeded embedded/ }).waitFor();
      assert.ok(!seen.some((text) => /hunter2|0p3nsesame|⟦/.test(text)));
    },
    { colorScheme },
  );
