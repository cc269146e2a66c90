// test.mjs: the unit tests, bundled as the page is, run by Node's own runner; prints TAP.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "spanflame-page-"));
try {
  const names = readdirSync(join(here, "tests")).filter((n) => n.endsWith(".test.ts"));
  await build({
    entryPoints: names.map((n) => join(here, "tests", n)),
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: out,
    outExtension: { ".js": ".mjs" },
    external: ["node:*"],
    logLevel: "error",
  });
  const files = readdirSync(out).map((n) => join(out, n));
  process.exitCode = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
