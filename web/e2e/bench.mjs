// Measures the console against its budgets: a Chromium, a real "slipway serve", and an execution of 10,000 nodes and a
// log of 100,000 lines that have really run there. It fails when a time is over its budget times FACTOR (1.5 if nothing
// is said), or a size or the memory is over its budget at all. FACTOR grows with what else the machine has to do.
//
// BENCH_DATA names a folder that keeps what has run, and has it run the next time: running it takes minutes.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { launch } from "./browser.mjs";
import { script, start } from "./server.mjs";

/** busy is how many times as long something takes as when nothing else runs: equal pieces of work, and the shortest. */
function busy() {
  const pieces = Array.from({ length: 200 }, () => {
    const begun = performance.now();
    for (let i = 0; i < 2000; i++) createHash("sha256").update("slipway").digest();
    return performance.now() - begun;
  });
  return pieces.reduce((sum, p) => sum + p, 0) / pieces.length / sorted(pieces)[20];
}
const sorted = (all) => [...all].sort((a, b) => a - b);
const median = (all) => sorted(all)[Math.floor(all.length / 2)];
const p95 = (all) => sorted(all)[Math.min(all.length - 1, Math.floor(all.length * 0.95))];

const factor = Math.round(Number(process.env.FACTOR ?? 1.5) * Math.max(1, busy()) * 10) / 10;
const rounds = 5;
const lines = 100_000;
/** How many of the changes are waited for: each is an approval of the large execution. */
const gates = 20;

const approval = (id) =>
  `{step: {name: ${id}, identifier: ${id}, type: HarnessApproval, timeout: 1d, spec: {approvalMessage: "Go on?", approvers: {minimumCount: 1, disallowPipelineExecutor: false, userGroups: [account._account_all_users]}}}}`;
const stageOf = (id, steps, more = "", type = "Custom") =>
  `{stage: {name: ${id}, identifier: ${id}, type: ${type}, spec: {execution: {steps: [${steps.join(", ")}]}}${more}}}`;
const looped = (step, times) => step.replace(/}$/, `, strategy: {repeat: {times: ${times}, maxConcurrency: 10}}}`);

// 100 stages of a matrix, each with a loop of 97 steps: with what is around them, 9,902 nodes; and the gates.
const many = `pipeline: {name: Many, identifier: many, stages: [${stageOf(
  "region",
  [looped(script("check", "true").replace(/}$/, ""), 97).replace(/$/, "}")],
  `, strategy: {matrix: {n: [${Array.from({ length: 100 }, (_, i) => i + 1).join(", ")}], maxConcurrency: 10}}`,
)}, ${stageOf(
  "release",
  Array.from({ length: gates }, (_, i) => approval(`gate${i + 1}`)),
  "",
  "Approval",
)}]}\n`;
const long = `pipeline: {name: Long, identifier: long, stages: [${stageOf("print", [
  script("short", "echo short"),
  script(
    "lines",
    `for i in $(seq 1 ${lines / 1000}); do seq -f "line %.0f of a log that is as long as logs become" $((i * 1000 - 999)) $((i * 1000)); done`,
  ),
])}]}\n`;
const one = `pipeline: {name: One, identifier: one, stages: [${stageOf(
  "release",
  Array.from({ length: rounds }, (_, i) => approval(`gate${i + 1}`)),
  "",
  "Approval",
)}]}\n`;

const rows = [];
/** tell prints a measurement beside its budget. */
function tell(what, value, budget, unit, most = budget) {
  rows.push({ what, value, budget, unit, missed: value > most });
  const verdict = value > most ? "MISSED" : value > budget ? "over  " : "ok    ";
  console.log(`${verdict} ${what}: ${value} ${unit}, of ${budget}`);
}
const time = (what, all, budget) => tell(what, Math.round(median(all)), budget, "ms", budget * factor);

/** waits asks until an execution waits for its approval. */
async function waits(server, id) {
  for (;;) {
    const e = await server.ask("GET", `/v1/executions/${id}?status=ApprovalWaiting`);
    if (e.status === "ApprovalWaiting") return;
    if (e.endedAt) throw new Error(`the execution ${id} is ${e.status}: ${e.message}`);
    await new Promise((r) => setTimeout(r, 1000));
  }
}

async function prepare() {
  const kept = process.env.BENCH_DATA;
  if (kept && existsSync(kept)) return start(kept);
  const server = await start();
  for (const document of [many, long, one]) await server.save(document);
  const begun = Date.now();
  const { id } = await server.run("many");
  const other = await server.finished((await server.run("long")).id);
  if (other.status !== "Success") throw new Error(`the long log's execution is ${other.status}`);
  await waits(server, id);
  console.log(`10,000 nodes and ${lines} lines have run in ${Math.round((Date.now() - begun) / 1000)} s`);
  if (!kept) return server;
  await server.stop(kept);
  return start(kept);
}

const server = await prepare();
const browser = await launch();
const found = async (pipeline) =>
  (await server.ask("GET", `/v1/executions?org=default&project=default_project&pipeline=${pipeline}&limit=1`))
    .executions[0].id;

/** seen is what every page notes of itself: when which of the things that a person waits for was drawn first. */
function seen(wanted) {
  window.seen = {};
  window.frames = [];
  const look = () => {
    for (const [name, selector, text] of wanted)
      if (!(name in window.seen)) {
        const at = [...document.querySelectorAll(selector)].find((n) => !text || n.textContent.includes(text));
        if (at) {
          window.seen[name] = 0;
          requestAnimationFrame(() =>
            setTimeout(() => {
              window.seen[name] = performance.now();
            }),
          );
        }
      }
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
}

async function session() {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto("/");
  await page.getByLabel("Token").fill(server.token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** open gives a page of an empty cache that was told what to look for. */
async function open(storageState, path, wanted) {
  const context = await browser.newContext({
    baseURL: server.url,
    viewport: { width: 1280, height: 800 },
    storageState,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript(seen, wanted);
  await page.goto(path, { waitUntil: "commit" });
  const at = async (name) =>
    (await page.waitForFunction((n) => window.seen[n] > 0 && window.seen[n], name, { polling: 20 })).jsonValue();
  return { page, context, at };
}

/** frames are the times between what is drawn while something is done. */
async function frames(page, body) {
  await page.evaluate(() => {
    window.frames = [];
    window.framing = true;
    let before = 0;
    const next = (t) => {
      if (before) window.frames.push(t - before);
      before = t;
      if (window.framing) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await body();
  return page.evaluate(() => {
    window.framing = false;
    return window.frames;
  });
}

/** memory is what the processes of the pages have for themselves, in MB, after their garbage is gone. */
async function memory(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("Performance.enable");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const heap = metrics.find((m) => m.name === "JSHeapUsedSize").value;
  const whole = await browser.newBrowserCDPSession();
  const { processInfo } = await whole.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter((p) => p.type === "renderer")
    .map((p) => {
      const text = readFileSync(`/proc/${p.id}/smaps_rollup`, "utf8");
      return [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB/gm)].reduce(
        (sum, m) => sum + Number(m[1]) * 1024,
        0,
      );
    });
  return { heap: Math.round(heap / 1e6), tab: Math.round(Math.max(...sizes) / 1e6) };
}

try {
  const state = await session();
  const [large, log, small] = [await found("many"), await found("long"), (await server.run("one")).id];
  await waits(server, small);

  // Usable: the tree is there with its selection, and the log's last line.
  const usable = [];
  for (let i = 0; i < rounds; i++) {
    const { context, at } = await open(state, `/x/${log}?node=pipeline.stages.print.spec.execution.steps.short`, [
      ["row", "[role=row][aria-selected=true]"],
      ["log", "[role=log] .line", "short"],
    ]);
    usable.push(Math.max(await at("row"), await at("log")));
    await context.close();
  }
  time("a usable execution page, from an empty cache", usable, 1200);

  const paint = [];
  for (let i = 0; i < rounds; i++) {
    const { context, at } = await open(state, `/x/${large}`, [["row", "[role=row]"]]);
    paint.push(await at("row"));
    await context.close();
  }
  time("10,000 nodes: their first rows, from an empty cache", paint, 1500);

  {
    const { page, context, at } = await open(state, `/x/${large}`, [["row", "[role=row]"]]);
    await at("row");
    const tree = page.getByRole("treegrid");
    // Everything is opened: what an answer had no room for is read.
    const folding = await frames(page, async () => {
      await page.locator("[role=row][tabindex='0']").focus();
      await page.keyboard.press("Home");
      for (let i = 0; i < 30; i++) {
        await page.keyboard.press("ArrowRight");
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("ArrowRight");
        await page.waitForTimeout(30);
      }
    });
    time("the same: a frame while loops are opened, p95", [p95(folding)], 50);
    for (;;) {
      const count = await tree.evaluate(async (grid) => {
        const until = (ok) =>
          new Promise((resolve) => {
            const look = () => (ok() ? resolve() : requestAnimationFrame(look));
            look();
          });
        let opened = 0;
        for (let top = 0; ; top += grid.clientHeight) {
          grid.scrollTop = top;
          await until(() => true);
          await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
          for (;;) {
            const more = grid.querySelector("button.quiet");
            const shut = grid.querySelector("[aria-label=Open]");
            const next = more ?? shut;
            if (!next) break;
            next.click();
            opened++;
            await until(() => !next.isConnected || (next.getAttribute("aria-label") ?? "Close") === "Close");
            await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
          }
          if (top + grid.clientHeight >= grid.scrollHeight) return opened;
        }
      });
      if (count === 0) break;
    }
    const shown = Number(await tree.getAttribute("aria-rowcount"));
    console.log(`       ${shown} rows are open`);
    if (shown < 9_800) throw new Error(`${shown} rows are open; there should be all nodes`);
    const scrolling = await frames(page, async () => {
      await tree.hover();
      for (let i = 0; i < 60; i++) {
        await page.mouse.wheel(0, i % 2 ? 4000 : 12_000);
        await page.waitForTimeout(16);
      }
    });
    time("the same: a frame while all of them are scrolled, p95", [p95(scrolling)], 50);
    const closing = await frames(page, async () => {
      await tree.evaluate(async (grid) => {
        grid.scrollTop = 0;
        for (let i = 0; i < 40; i++) {
          await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
          grid.querySelectorAll("[role=row] button.twist")[1].click();
        }
      });
    });
    time("the same: a frame while they are folded, p95", [p95(closing)], 50);
    const nodes = await page.evaluate(() => document.querySelectorAll("[role=treegrid] *").length);
    tell("the same: elements that are drawn of them", nodes, 400, "elements");
    const { heap, tab } = await memory(page);
    console.log(`       their JavaScript heap has ${heap} MB`);
    tell("the same: memory of the tab", tab, 150, "MB");
    await context.close();
  }

  /** changes is how long it takes until an approval is on the screen. */
  const changes = async (what, id) => {
    const took = [];
    const { page, context, at } = await open(state, `/x/${id}`, [["row", "[role=row]"]]);
    await at("row");
    for (let i = 0; i < rounds; i++) {
      const node = await page
        .locator("[role=row]", { hasText: "gate" })
        .filter({ hasText: "Waiting for approval" })
        .first()
        .locator(".text")
        .innerText();
      await page.evaluate((node) => {
        window.changed = new Promise((resolve) => {
          const look = () => {
            const row = [...document.querySelectorAll("[role=row]")].find(
              (r) => r.querySelector(".text")?.textContent === node,
            );
            if (row?.textContent.includes("Succeeded"))
              requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
            else requestAnimationFrame(look);
          };
          look();
        });
      }, node);
      const begun = Date.now();
      await server.ask("POST", `/v1/executions/${id}/nodes/${node}/approval`, JSON.stringify({ action: "APPROVE" }));
      took.push((await page.evaluate(() => window.changed)) - begun);
      await page.waitForTimeout(3000); // people approve one thing, and then another
    }
    await context.close();
    time(what, took, 500);
  };
  await changes("a change of a small execution, on the screen", small);
  await changes("a change of the execution with 10,000 nodes, on the screen", large);

  const opened = [];
  const searched = [];
  for (let i = 0; i < 3; i++) {
    const { page, context, at } = await open(state, `/x/${log}?node=pipeline.stages.print.spec.execution.steps.short`, [
      ["log", "[role=log] .line", "short"],
    ]);
    await at("log");
    opened.push(
      await page.evaluate(
        (last) =>
          new Promise((resolve) => {
            const begun = performance.now();
            [...document.querySelectorAll("[role=row]")].find((r) => r.textContent.includes("lines")).click();
            const look = () => {
              const drawn = [...document.querySelectorAll("[role=log] .line")].some((n) =>
                n.textContent.includes(last),
              );
              if (drawn) setTimeout(() => resolve(performance.now() - begun));
              else requestAnimationFrame(look);
            };
            look();
          }),
        `line ${lines} of`,
      ),
    );
    await page.waitForFunction(() => !document.querySelector("[role=log][aria-busy=true]"));
    const field = page.getByLabel("Search in this log");
    for (const [wanted, count] of [
      ["line 77777 of", "1"],
      ["line 99 of", "1"],
      ["as long as logs", new Intl.NumberFormat("en").format(lines)],
    ]) {
      await field.focus();
      searched.push(
        await page.evaluate(
          ([wanted, count]) =>
            new Promise((resolve) => {
              const field = document.querySelector("#log-search");
              const status = document.querySelector(".log-bar [role=status]");
              const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
              const begun = performance.now();
              set.call(field, wanted);
              field.dispatchEvent(new Event("input", { bubbles: true }));
              const look = () => {
                if (status.textContent.endsWith(` of ${count}`)) setTimeout(() => resolve(performance.now() - begun));
                else requestAnimationFrame(look);
              };
              look();
            }),
          [wanted, count],
        ),
      );
      await field.fill("");
      await page.waitForFunction(() => document.querySelector(".log-bar [role=status]").textContent === "");
    }
    if (i === 2) {
      const { heap, tab } = await memory(page);
      console.log(`       with the log the tab has ${tab} MB, its JavaScript heap ${heap}`);
    }
    await context.close();
  }
  time(`a log of ${lines} lines, at its end`, opened, 500);
  time("a search in it", searched, 300);
} finally {
  await browser.close();
  await server.stop();
}

const version = browser.version();
const load = loadavg()[0].toFixed(1);
console.log(
  `\nOn ${cpus().length} x ${cpus()[0].model}, load ${load}, Chromium ${version}:\n\n| what | measured | budget |\n| --- | --- | --- |`,
);
for (const r of rows) console.log(`| ${r.what} | ${r.value} ${r.unit} | ${r.budget} ${r.unit} |`);
const missed = rows.filter((r) => r.missed);
if (missed.length > 0) {
  console.error(
    `bench-console: ${missed.length} of ${rows.length} budgets are missed (times by more than ${factor} times)`,
  );
  process.exit(1);
}
