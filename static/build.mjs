// Bundles static/css, static/js and static/img into static/dist with hashed names, and
// writes dist/manifest.json, which maps "app.css" to "app-1A2B3C4D.css". Cuts the
// typefaces of PDFs into views/pdf/fonts.
// Usage: node static/build.mjs
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import subsetFont from "subset-font";

const root = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(root, "dist");
const fonts = path.join(root, "../views/pdf/fonts");

// The files that pages link to. Everything else is imported by one of them.
const entries = ["css/app.css", "css/dashboard.css", "css/docs.css", "js/app.js", "js/dashboard.js", "js/docs.js", "js/live.js", "img/icon.svg"];

const modules = path.join(root, "..", "node_modules");
const typeface = path.join(modules, "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");

// The typeface with the weights that pages use and the characters of its unicode-range:
// 31 KB of 48.
const weights = { min: 400, max: 700 };
const shell = await readFile(path.join(root, "css/dashboard-shell.css"), "utf8");
const characters = [...shell.match(/unicode-range: ([^;]+)/)[1].matchAll(/U\+([0-9A-F]+)(?:-([0-9A-F]+))?/g)].flatMap(([, first, last = first]) => {
  const from = parseInt(first, 16);
  return Array.from({ length: parseInt(last, 16) - from + 1 }, (_, i) => String.fromCodePoint(from + i));
});
const smallTypeface = {
  name: "small typeface",
  setup(build) {
    build.onLoad({ filter: /\.woff2$/ }, async (file) => ({
      contents: await subsetFont(await readFile(file.path), characters.join(""), { targetFormat: "woff2", variationAxes: { wght: weights } }),
      loader: "copy",
    }));
  },
};

// The dashboard's icons: our names, and Lucide's.
const icons = {
  audit: "scroll-text",
  billing: "credit-card",
  docs: "book-open",
  events: "zap",
  figures: "chart-column",
  home: "house",
  keys: "key-round",
  me: "circle-user-round",
  out: "log-out",
  quickstart: "rocket",
  requests: "arrow-left-right",
  search: "search",
  sessions: "file-text",
  settings: "settings",
  team: "users",
  updown: "chevrons-up-down",
  webhooks: "webhook",
};

// Remove files of an earlier build, which would be embedded into the binary. Keep
// .gitkeep: go:embed needs one file before the first build.
for (const folder of [dist, fonts]) {
  for (const name of await readdir(folder)) {
    if (name !== ".gitkeep") await rm(path.join(folder, name), { recursive: true });
  }
}

const result = await build({
  absWorkingDir: root,
  entryPoints: [...entries, typeface],
  bundle: true,
  minify: true,
  legalComments: "none",
  metafile: true,
  outdir: dist,
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".svg": "copy" },
  plugins: [smallTypeface],
  format: "iife",
  target: ["es2022", "chrome123", "firefox121", "safari17.5"],
  logLevel: "warning",
});

// The bill of materials lists the dependencies of package.json as bundled.
const { dependencies } = JSON.parse(await readFile(path.join(root, "..", "package.json"), "utf8"));
const bundled = new Set(
  Object.keys(result.metafile.inputs).map((file) => file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean),
);
bundled.add("lucide-static"); // its icons are read below

// The typefaces of PDFs (D80): TrueType outlines without hints, which only screens use.
// Inter keeps its figures of equal width, which views/pdf finds by their names. Noto has
// every character of its Chinese: of GB 18030 and Big5, too, for names. It is compressed,
// from 10 MB to 5.5 in a second; the best that Brotli can do, 4.8, takes twenty.
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS } };
const span = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)).join("");
const western = span(0x20, 0x2e7f) + span(0xa640, 0xabff) + span(0xfb00, 0xfb06);
const chinese = span(0x2e80, 0x9fff) + span(0xf900, 0xfaff) + span(0xfe30, 0xfe4f) + span(0xff00, 0xffef) + span(0x20000, 0x2f7ff) + span(0x30000, 0x323af);
const typefaces = [
  ["inter-400.ttf", "@expo-google-fonts/inter", "400Regular/Inter_400Regular.ttf", western, ["tnum"]],
  ["inter-600.ttf", "@expo-google-fonts/inter", "600SemiBold/Inter_600SemiBold.ttf", western, ["tnum"]],
  ["noto-sans-sc.ttf.br", "@expo-google-fonts/noto-sans-sc", "400Regular/NotoSansSC_400Regular.ttf", chinese, []],
];
await Promise.all(
  typefaces.map(async ([file, name, source, characters, keepFeatures]) => {
    const whole = await readFile(path.join(modules, name, source));
    const dropTables = ["BASE", "GDEF", "GPOS", "STAT", "gasp", "vhea", "vmtx"];
    const cut = await subsetFont(whole, characters, { targetFormat: "sfnt", keepFeatures, glyphNames: true, noHinting: true, dropTables });
    await writeFile(path.join(fonts, file), file.endsWith(".br") ? brotliCompressSync(cut, brotli) : cut);
    bundled.add(name);
  }),
);
const odd = [...bundled].filter((name) => !dependencies[name]).concat(Object.keys(dependencies).filter((name) => !bundled.has(name)));
if (odd.length) throw new Error(`package.json's dependencies must be the bundled packages; they differ in ${odd.join(", ")}`);

const manifest = {};
for (const [file, output] of Object.entries(result.metafile.outputs)) {
  if (output.entryPoint) manifest[path.basename(output.entryPoint)] = path.basename(file);
}

// One file with all icons, each under our name. Its licence comment stays.
const symbols = await Promise.all(
  Object.entries(icons).map(async ([name, file]) => {
    const svg = await readFile(path.join(modules, "lucide-static/icons", `${file}.svg`), "utf8");
    const drawing = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.indexOf("</svg>")).replace(/\s+/g, " ").trim();
    return `<symbol id="${name}" viewBox="0 0 24 24">${drawing}</symbol>`;
  }),
);
const sprite = `<!-- Icons of Lucide, lucide.dev, ISC licence --><svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>`;
const spriteFile = `icons-${createHash("sha256").update(sprite).digest("hex").slice(0, 8).toUpperCase()}.svg`;
await writeFile(path.join(dist, spriteFile), sprite);
manifest["icons.svg"] = spriteFile;

// The licences of what is in these files, which must go with them.
const licences = await Promise.all(
  [...bundled].sort().map(async (name) => {
    const files = (await readdir(path.join(modules, name))).filter((file) => file.startsWith("LICENSE")).sort();
    const texts = await Promise.all(files.map((file) => readFile(path.join(modules, name, file), "utf8")));
    return [name, ...texts].join("\n\n");
  }),
);
await writeFile(path.join(dist, "licences.txt"), licences.join("\n\n"));
manifest["licences.txt"] = "licences.txt";

await writeFile(path.join(dist, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");

for (const [name, file] of Object.entries(manifest)) {
  console.log(`${name} -> static/dist/${file}`);
}
