// A real Chromium, and a page in it that tells of all that a page of ours must never do.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { start } from "./server.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** launch starts a browser. */
export async function launch() {
  const executablePath =
    process.env.CHROMIUM ??
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (!executablePath) throw new Error("there is no Chromium; install it, or name it by CHROMIUM");
  const args = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  return chromium.launch({ executablePath, args });
}

/** open gives a page of a new browser profile. wrong has what it did that it must not. */
async function open(browser, server, options = {}) {
  const context = await browser.newContext({ baseURL: server.url, ...options });
  const wrong = [];
  await context.route(
    (url) => url.origin !== server.url && url.protocol !== "blob:" && url.protocol !== "data:",
    (route) => {
      wrong.push(`asks ${route.request().url()}`);
      return route.abort();
    },
  );
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => {
      window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`);
    });
  });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000));
  const expected = [];
  page.on("console", (m) => {
    if (m.type() === "error" && !expected.some((e) => e.test(`${m.text()} ${m.location().url}`)))
      wrong.push(`console: ${m.text()} ${m.location().url}`);
  });
  page.on("pageerror", (e) => wrong.push(`error: ${e}`));
  return {
    page,
    context,
    /** expect lets the browser's own word on a refused request pass. */
    expect: (pattern) => expected.push(pattern),
    async wrong() {
      for (const p of context.pages()) wrong.push(...(await p.evaluate(() => window.violations).catch(() => [])));
      return wrong;
    },
    async login(path = "/", token = server.token) {
      expected.push(/401 \(Unauthorized\).*\/v1\/whoami/);
      await page.goto(path);
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Log in", exact: true }).click();
      await page.getByRole("button", { name: "Log out" }).waitFor();
    },
    /** picture keeps what is to be seen for docs/console.md, if PICTURES names a folder. */
    async picture(name) {
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png` });
    },
    /** accessible runs axe over the protocol, so that the page's own policy stays on. */
    async accessible() {
      await page.evaluate(axe);
      const found = await page.evaluate(() =>
        window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }),
      );
      return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary}`).join("\n")}`);
    },
  };
}

/**
 * suite gives the tests of a file a browser and a server, which prepare fills. What it returns runs a test on a page of
 * its own, which must have done nothing that it may not.
 */
export function suite(prepare, begin = start) {
  let server;
  let browser;
  before(async () => {
    [server, browser] = await Promise.all([begin(), launch()]);
    await prepare(server);
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  return (name, body, options) =>
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
