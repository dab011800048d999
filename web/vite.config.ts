import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Of these a program may have parts in it, with their texts beside them. */
const allowed = /^(MIT|ISC|BSD-[23]-Clause|Apache-2\.0|Unlicense|0BSD)$/;

/** Writes the licences of what is in the bundle, and fails for another one. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const dirs = new Set<string>();
      for (const id of this.getModuleIds()) {
        const dir = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
        if (dir && !id.startsWith("\0")) dirs.add(dir);
      }
      let source = "";
      for (const dir of [...dirs].sort()) {
        const { name, version, license } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
        if (!allowed.test(license)) this.error(`${name} has the licence ${license}`);
        const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
        source += `${name} ${version}, ${license}\n\n${file ? readFileSync(join(dir, file), "utf8").trim() : ""}\n\n`;
      }
      this.emitFile({ type: "asset", fileName: "assets/LICENSES.txt", source });
    },
  };
}

/** Puts beside each file the forms in which servers send it. */
function packed(): Plugin {
  return {
    name: "packed",
    writeBundle(options) {
      const dir = options.dir ?? "dist";
      for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const path = join(dir, name);
        const text = readFileSync(path);
        writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
        writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), licences(), packed()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the policy lets no page have data in its code
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
  },
});
