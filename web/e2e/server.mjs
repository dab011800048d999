// What the browser is driven against: a real "slipway serve" over a new data folder, and what has run there.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const program = process.env.SLIPWAY ?? fileURLToPath(new URL("../../bin/slipway", import.meta.url));
const scope = "org=default&project=default_project";

const script = (id, text) =>
  `{step: {name: ${id}, identifier: ${id}, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: ${JSON.stringify(text)}}}}}}`;
const stage = (id, steps) =>
  `{stage: {name: ${id}, identifier: ${id}, type: Custom, spec: {execution: {steps: [${steps.join(",")}]}}}}`;

export const pipeline = (id, stages) => `pipeline: {name: ${id}, identifier: ${id}, stages: [${stages.join(",")}]}\n`;
export { script, stage };

/** start runs a server; its URL and token are in what it gives. It begins with a copy of the folder, if one is named. */
export async function start(from) {
  const home = mkdtempSync(join(tmpdir(), "slipway-console-"));
  if (from) cpSync(from, home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, "config") };
  const child = spawn(
    program,
    [
      "serve",
      "--addr",
      "127.0.0.1:0",
      "--data",
      join(home, "data"),
      "--log-format",
      "json",
      "--request-rate",
      "0",
      "--login-rate",
      "0",
    ],
    {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  let said = "";
  const url = await new Promise((resolve, reject) => {
    child.stderr.on("data", (d) => {
      said += d;
      const found = /"msg":"slipway serves","url":"([^"]+)"/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`slipway serve ended:\n${said}`)));
  });
  const token = /^token: (\S+)/m.exec(readFileSync(join(home, "config", "slipway", "config.yaml"), "utf8"))?.[1];
  const server = {
    ...client(url, token),
    home,
    env,
    said: () => said,
    /** stop ends it; its data are gone, unless a folder is named that keeps them. */
    async stop(keep) {
      if (child.exitCode === null) {
        child.removeAllListeners("exit");
        const over = new Promise((resolve) => child.on("exit", resolve));
        child.kill("SIGTERM");
        await over;
      }
      if (keep) cpSync(home, keep, { recursive: true });
      rmSync(home, { recursive: true, force: true });
    },
    child,
  };
  return server;
}

/** client asks a server, wherever it is. */
export function client(url, token) {
  const server = {
    url,
    token,
    async ask(method, path, body, type = "application/json") {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "Content-Type": type }) },
        body,
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    save: (yaml) => server.ask("PUT", `/v1/entities?${scope}`, yaml, "application/yaml"),
    run: (id, body = {}) => server.ask("POST", `/v1/pipelines/${id}/executions?${scope}`, JSON.stringify(body)),
    async finished(id) {
      for (;;) {
        const e = await server.ask("GET", `/v1/executions/${id}?wait=30`);
        if (e.endedAt) return e;
      }
    },
  };
  return server;
}
