// Fails when the console has become larger than it may be: what a first visit of a page loads, what a page adds, what the
// editor adds to its page, and all of it together. Sizes are of the compressed files.
import { readdirSync, readFileSync, statSync } from "node:fs";

const kB = 1000;
const most = { script: 230 * kB, style: 20 * kB, page: 60 * kB, editor: 170 * kB, all: 900 * kB };
const manifest = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));
const size = (file) => statSync(`dist/${file}.gz`).size;
const wrong = [];

/** with adds what a chunk imports. */
function loaded(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const next of manifest[name].imports ?? []) loaded(next, found);
  return found;
}

const entry = loaded("index.html");
const editor = "src/studio/Studio.tsx"; // loaded by its page alone, after the page
for (const [name, chunk] of Object.entries(manifest)) {
  if (!chunk.file.endsWith(".js")) continue;
  if (!entry.has(name) && name !== editor && size(chunk.file) > most.page)
    wrong.push(`${chunk.file} has ${size(chunk.file)} bytes; at most ${most.page}`);
  if (!chunk.isDynamicEntry && name !== "index.html") continue;
  const before = name === editor ? loaded("src/routes/EditPage.tsx") : new Set();
  const files = [...new Set([...entry, ...loaded(name)])]
    .filter((n) => name !== editor || !(entry.has(n) || before.has(n)))
    .map((n) => manifest[n]);
  const script = files.reduce((sum, f) => sum + size(f.file), 0);
  const style = [...new Set(files.flatMap((f) => f.css ?? []))].reduce((sum, f) => sum + size(f), 0);
  const limit = name === editor ? most.editor : most.script;
  console.log(`${name}: ${script} bytes of script, of ${limit}; ${style} of style, of ${most.style}`);
  if (script > limit) wrong.push(`${name} loads ${script} bytes of script; at most ${limit}`);
  if (style > most.style) wrong.push(`${name} loads ${style} bytes of style; at most ${most.style}`);
}
const all = readdirSync("dist/assets")
  .filter((f) => f.endsWith(".br"))
  .reduce((sum, f) => sum + statSync(`dist/assets/${f}`).size, 0);
if (all > most.all) wrong.push(`all assets have ${all} bytes; at most ${most.all}`);
for (const w of wrong) console.error(`budget: ${w}`);
process.exit(wrong.length > 0 ? 1 : 0);
