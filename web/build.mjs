// build.mjs DIR: one script and what it loads when it is needed, one sheet, one page, one licence list; names carry a hash of the
// content.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];

const made = await build({
  entryPoints: [join(here, "src/main.tsx")],
  bundle: true,
  minify: true,
  write: false,
  outdir: out,
  format: "esm",
  splitting: true,
  charset: "utf8",
  chunkNames: "[name]-[hash]",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "error",
});

function put(stem, ending, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const name = `${stem}-${hash}.${ending}`;
  writeFileSync(join(out, name), content);
  return `/assets/${name}`;
}

const names = {};
for (const file of made.outputFiles) {
  const [, stem, ending] = /([^/]+)\.(css|js)$/.exec(file.path);
  if (stem === "main") names[ending] = put("app", ending, file.contents);
  else writeFileSync(join(out, `${stem}.${ending}`), file.contents); // the script names it
}
names.icon = put("icon", "svg", readFileSync(join(here, "src/icon.svg")));
const licences = ["preact"].map((name) => {
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8");
  return `${name}\n\n${text.trim()}\n`;
});
names.licences = put("licences", "txt", licences.join("\n\n"));
const page = readFileSync(join(here, "src/index.html"), "utf8").replace(/\{(\w+)\}/g, (_, key) => names[key]);
writeFileSync(join(out, "index.html"), page);
