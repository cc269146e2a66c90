// Bundles read.js with the files of a checkout of Traces Drilldown that it imports; packages beside the app (React,
// Grafana's own) are stood in for by an object that answers everything, because no answer of a server goes through them.
//
//     node bundle.mjs ESBUILD SOURCE OUT
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , esbuildPath, source, out] = process.argv;
const { build } = await import(pathToFileURL(createRequire(import.meta.url).resolve(esbuildPath)).href);
const src = path.join(source, "src");

const nothing = `const any = new Proxy(function () {}, {
  get: (target, key) => key === "__esModule" ? true : key === "prototype" ? target.prototype
    : key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? function* () {} : any,
  getPrototypeOf: () => any, apply: () => any, construct: () => ({}), has: () => true });
module.exports = any;`;

const local = {
  name: "local",
  setup(b) {
    b.onResolve({ filter: /^[^./]/ }, (args) => {
      if (args.kind === "entry-point" || args.path.startsWith("node:")) return undefined;
      const base = path.join(src, args.path.replace(/^drilldown\//, ""));
      for (const end of ["", ".ts", ".tsx", "/index.ts", "/index.tsx"]) {
        if (fs.existsSync(base + end) && fs.statSync(base + end).isFile()) return { path: base + end };
      }
      return { path: args.path, namespace: "nothing" };
    });
    b.onLoad({ filter: /.*/, namespace: "nothing" }, () => ({ contents: nothing, loader: "js" }));
  },
};

await build({
  entryPoints: [path.join(import.meta.dirname, "read.js")], outfile: out, bundle: true, platform: "node", format: "cjs", logLevel: "error",
  plugins: [local], jsx: "automatic", tsconfigRaw: "{}",
  loader: { ".svg": "empty", ".png": "empty", ".css": "empty", ".scss": "empty" },
});
