// Bundles static/css, static/js and static/img into static/dist with hashed names, and
// writes dist/manifest.json, which maps "app.css" to "app-1A2B3C4D.css".
// Usage: node static/build.mjs
import { build } from "esbuild";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(root, "dist");

// The files that pages link to. Everything else is imported by one of them.
const entries = ["css/app.css", "css/dashboard.css", "css/docs.css", "js/app.js", "js/dashboard.js", "js/docs.js", "js/live.js", "img/icon.svg"];

// Remove files of an earlier build, which would be embedded into the binary. Keep
// .gitkeep: go:embed needs one file before the first build.
for (const name of await readdir(dist)) {
  if (name !== ".gitkeep") await rm(path.join(dist, name), { recursive: true });
}

const result = await build({
  absWorkingDir: root,
  entryPoints: entries,
  bundle: true,
  minify: true,
  legalComments: "none",
  metafile: true,
  outdir: dist,
  entryNames: "[name]-[hash]",
  loader: { ".svg": "copy" },
  format: "iife",
  target: ["es2022", "chrome123", "firefox121", "safari17.5"],
  logLevel: "warning",
});

// The bill of materials lists the dependencies of package.json as bundled.
const { dependencies } = JSON.parse(await readFile(path.join(root, "..", "package.json"), "utf8"));
const bundled = new Set(
  Object.keys(result.metafile.inputs).map((file) => file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean),
);
const odd = [...bundled].filter((name) => !dependencies[name]).concat(Object.keys(dependencies).filter((name) => !bundled.has(name)));
if (odd.length) throw new Error(`package.json's dependencies must be the bundled packages; they differ in ${odd.join(", ")}`);

const manifest = {};
for (const [file, output] of Object.entries(result.metafile.outputs)) {
  if (output.entryPoint) manifest[path.basename(output.entryPoint)] = path.basename(file);
}
await writeFile(path.join(dist, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");

for (const [name, file] of Object.entries(manifest)) {
  console.log(`${name} -> static/dist/${file}`);
}
