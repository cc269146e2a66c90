// Bundles a script with the files of a checkout of one of Grafana's apps that it imports as drilldown/...; packages beside the
// app (React, Grafana's own) are stood in for by an object that answers everything, because no answer of a server goes
// through them. What the script puts into globalThis.packages, by a package's name, is what the app gets of it.
//
//     node bundle.mjs ESBUILD SOURCE SCRIPT OUT
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , esbuildPath, source, script, out] = process.argv;
const { build } = await import(pathToFileURL(createRequire(import.meta.url).resolve(esbuildPath)).href);
const src = path.join(source, "src");

const nothing = `const any = new Proxy(function () {}, {
  get: (target, key) => key === "__esModule" ? true : key === "prototype" ? target.prototype
    : key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? function* () {} : any,
  getPrototypeOf: () => any, apply: () => any, construct: () => ({}), has: () => true });
const known = (globalThis.packages ?? {})[NAME];
const some = new Proxy(function () {}, { get: (_, key) => key in known ? known[key] : any[key], getPrototypeOf: () => some, has: () => true });
module.exports = known ? some : any;`;

const local = {
  name: "local",
  setup(b) {
    b.onResolve({ filter: /^[^./]/ }, (args) => {
      if (args.kind === "entry-point" || args.path.startsWith("node:")) return undefined;
      const base = path.join(src, args.path.replace(/^drilldown\//, "").replace(/^@shared\//, "shared/"));
      for (const end of ["", ".ts", ".tsx", "/index.ts", "/index.tsx"]) {
        if (fs.existsSync(base + end) && fs.statSync(base + end).isFile()) return { path: base + end };
      }
      return { path: args.path, namespace: "nothing" };
    });
    b.onLoad({ filter: /.*/, namespace: "nothing" }, (args) => ({ contents: nothing.replace("NAME", JSON.stringify(args.path)), loader: "js" }));
  },
};

await build({
  entryPoints: [script], outfile: out, bundle: true, platform: "node", format: "cjs", logLevel: "error",
  plugins: [local], jsx: "automatic", tsconfigRaw: '{"compilerOptions": {"experimentalDecorators": true}}',
  loader: { ".svg": "empty", ".png": "empty", ".css": "empty", ".scss": "empty" },
});
