// Logging in: by a small identity provider on loopback that lets everybody in whom the test names, and by one that
// speaks SAML and a directory, which let Sam and Lea in.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { suite } from "./browser.mjs";

let server;
let person = {};
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const codes = new Map();
const part = (v) => Buffer.from(JSON.stringify(v)).toString("base64url");

const provider = createServer((request, response) => {
  const { url } = provider;
  const at = new URL(request.url, url);
  const answer = (doc) => response.setHeader("Content-Type", "application/json").end(JSON.stringify(doc));
  if (at.pathname === "/.well-known/openid-configuration")
    return answer({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      id_token_signing_alg_values_supported: ["RS256"],
    });
  if (at.pathname === "/jwks")
    return answer({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }] });
  if (at.pathname === "/authorize") {
    const code = randomUUID();
    codes.set(code, at.searchParams);
    const back = new URL(at.searchParams.get("redirect_uri"));
    back.search = new URLSearchParams({ code, state: at.searchParams.get("state") });
    return response.writeHead(302, { Location: back.href }).end();
  }
  let body = "";
  request.on("data", (d) => (body += d));
  request.on("end", () => {
    const asked = new URLSearchParams(body);
    const begun = codes.get(asked.get("code"));
    codes.delete(asked.get("code"));
    const challenge = createHash("sha256").update(asked.get("code_verifier")).digest("base64url");
    assert.equal(begun.get("code_challenge"), challenge);
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: "slipway", iat: now, exp: now + 300, nonce: begun.get("nonce"), ...person };
    const text = `${part({ alg: "RS256", kid: "k", typ: "JWT" })}.${part(claims)}`;
    const id_token = `${text}.${sign("RSA-SHA256", Buffer.from(text), privateKey).toString("base64url")}`;
    answer({ access_token: randomUUID(), token_type: "Bearer", expires_in: 300, id_token });
  });
});
const others = spawn("go", ["run", "./internal/testservers/logins"], {
  cwd: new URL("../..", import.meta.url).pathname,
  stdio: ["pipe", "pipe", "inherit"],
});
const where = new Promise((resolve) => {
  createInterface({ input: others.stdout }).once("line", (line) => resolve(JSON.parse(line)));
});
after(() => {
  provider.close();
  others.stdin.end(); // with which it ends
});

const on = suite(async (started) => {
  server = started;
  await new Promise((resolve) => provider.listen(0, "127.0.0.1", resolve));
  provider.url = `http://127.0.0.1:${provider.address().port}`;
  const save = (at, yaml) => server.ask("PUT", `/v1/entities${at}`, yaml, "application/yaml");
  await save(
    "",
    `loginProvider: {identifier: corp, name: Corp, type: OIDC, issuer: "${provider.url}", clientId: slipway}`,
  );
  await save("", "user: {identifier: ada, name: Ada, email: ada@example.com}");
  await save(
    "?org=default&project=default_project",
    "userGroup: {identifier: devs, name: Devs, ssoLinked: true, linkedSsoId: corp, linkedSsoType: OIDC, ssoGroupId: developers}",
  );
  await save(
    "?org=default&project=default_project",
    "roleAssignment: {identifier: devs, roleIdentifier: _project_admin, resourceGroupIdentifier: _all_project_level_resources, principal: {type: USER_GROUP, identifier: devs}}",
  );
});

const list = "/o/default/p/default_project/executions";

on("who comes from a provider is logged in, at the page that was wanted", async (t) => {
  const { page, expect, accessible, context } = t;
  expect(/401 \(Unauthorized\)/);
  person = { sub: "a1", email: "ada@example.com", email_verified: true, groups: ["developers"] };
  await page.goto(list);
  const way = page.getByRole("link", { name: "Log in with Corp" });
  await way.waitFor();
  assert.deepEqual(await accessible(), []);
  await way.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  assert.equal(new URL(page.url()).pathname, list);
  const cookies = await context.cookies();
  assert.deepEqual(
    cookies.map((c) => [c.name, c.httpOnly, c.sameSite]),
    [["slipway", true, "Lax"]],
  );
  await page.getByRole("button", { name: "Log out" }).click();
  await way.waitFor();
});

on("who isn't let in is told why, in a sentence", async ({ page, expect, accessible }) => {
  expect(/401 \(Unauthorized\)/);
  person = { sub: "e1", email: "eve@example.com", email_verified: true, groups: [] };
  await page.goto("/login");
  await page.getByRole("link", { name: "Log in with Corp" }).click();
  await page.getByRole("alert").getByText("You have no user here. Ask who administrates Slipway for one.").waitFor();
  assert.match(page.url(), /\/login\?failed=stranger$/);
  assert.deepEqual(await accessible(), []);
});

/** saveOther saves a provider that a program of Go runs, and whom it lets in. */
async function saveOther(who, more) {
  const at = await where;
  const save = (yaml) => server.ask("PUT", "/v1/entities", yaml, "application/yaml");
  await save(`user: {identifier: ${who}, name: ${who}, email: ${who}@example.com}`);
  await save(
    "secret: {identifier: search, name: Search, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: s3arch}}",
  );
  await save(more(at));
  await save(
    `roleAssignment: {identifier: ${who}, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: ${who}}}`,
  );
}

on("who comes from a provider of SAML is logged in, though its answer comes from another site", async (t) => {
  const { page, expect, context } = t;
  expect(/401 \(Unauthorized\)/);
  await saveOther(
    "sam",
    (at) => `loginProvider: {identifier: fed, name: Federation, type: SAML, metadataUrl: "${at.metadata}"}`,
  );
  await page.goto(list);
  await page.getByRole("link", { name: "Log in with Federation" }).click();
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  assert.equal(new URL(page.url()).pathname, list);
  assert.deepEqual(
    (await context.cookies()).map((c) => [c.name, c.httpOnly, c.sameSite]),
    [["slipway", true, "Lax"]],
  );
});

on("who has a password of a directory is logged in, and else told that it is wrong", async (t) => {
  const { page, expect, accessible } = t;
  expect(/401 \(Unauthorized\)/);
  await saveOther(
    "lea",
    (at) =>
      `loginProvider: {identifier: dir, name: Directory, type: LDAP, host: 127.0.0.1, port: ${at.port}, useSSL: true, bindDN: "cn=search,dc=example,dc=com", bindPasswordRef: search, userQueries: [{baseDN: "ou=people,dc=example,dc=com"}], caCertificate: ${JSON.stringify(at.ca)}}`,
  );
  await page.goto(list);
  const form = page.getByRole("form", { name: "Log in with Directory" });
  await form.getByLabel("Mail address").fill("lea@example.com");
  assert.deepEqual(await accessible(), []);
  await form.getByLabel("Password").fill("inc0rrect");
  await form.getByRole("button", { name: "Log in with Directory" }).click();
  await form.getByText("The mail address or the password is wrong.").waitFor();
  await form.getByLabel("Password").fill("corr3ct");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  assert.equal(new URL(page.url()).pathname, list);
});

on("who has a password of Slipway's own is logged in, and else told that it is wrong", async (t) => {
  const { page, expect, accessible } = t;
  expect(/401 \(Unauthorized\)/);
  const save = (yaml) => server.ask("PUT", "/v1/entities", yaml, "application/yaml");
  await save("user: {identifier: pia, name: Pia, email: pia@example.com}");
  await save(
    "roleAssignment: {identifier: pia, roleIdentifier: _account_viewer, resourceGroupIdentifier: _all_resources_including_child_scopes, principal: {type: USER, identifier: pia}}",
  );
  await server.ask(
    "PUT",
    "/v1/users/pia/password",
    JSON.stringify({ password: "correct horse battery" }),
    "application/json",
  );
  await page.goto(list);
  const form = page.getByRole("form", { name: "Log in with a password" });
  await form.getByLabel("Mail address").fill("pia@example.com");
  assert.deepEqual(await accessible(), []);
  await form.getByLabel("Password").fill("inc0rrect");
  await form.getByRole("button", { name: "Log in with a password" }).click();
  await form.getByText("The mail address or the password is wrong.").waitFor();
  await form.getByLabel("Password").fill("correct horse battery");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Deployments" }).waitFor();
  assert.equal(new URL(page.url()).pathname, list);
  await page.getByRole("link", { name: "pia" }).click();
  const own = page.getByRole("form", { name: "Your password" });
  await own.getByLabel("Old password").fill("correct horse battery");
  await own.getByLabel("New password", { exact: true }).fill("battery of another horse");
  await own.getByLabel("New password, again").fill("battery of another cow");
  assert.deepEqual(await accessible(), []);
  await own.getByRole("button", { name: "Change it" }).click();
  await own.getByText("The two new passwords aren't the same.").waitFor();
  await own.getByLabel("New password, again").fill("battery of another horse");
  await page.keyboard.press("Enter");
  await form.getByLabel("Mail address").fill("pia");
  await form.getByLabel("Password").fill("battery of another horse");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "pia" }).waitFor();
});
