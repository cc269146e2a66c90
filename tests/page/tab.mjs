// tab.mjs: tabs of a real browser that hold the page to account, and a runner that prints TAP.
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** What the caller told: addresses, ids, folders. */
export const story = JSON.parse(process.argv[2]);
const require = createRequire(join(story.web, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const tests = [];
export const test = (name, body) => tests.push({ name, body });
export const browser = await chromium.launch({
  executablePath: story.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...(story.args ?? [])],
});

/** A fresh tab. What goes wrong in it or leaves the host is a failure of its test. */
export async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: options.viewport ?? { width: 1280, height: 720 }, colorScheme: options.dark ? "dark" : "light", acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PAGE_WAIT_MS ?? 30000));
  page.faults = [];
  // Recorded data is examined in the time it was recorded.
  if (story.nowMs !== undefined) await page.clock.setFixedTime(new Date(story.nowMs));
  const base = options.base ?? story.url;
  page.on("pageerror", (e) => page.faults.push(String(e)));
  page.on("request", (r) => {
    if (!r.url().startsWith(base) && !/^(data|blob):/.test(r.url())) page.faults.push(`left the host: ${r.url()}`);
  });
  page.on("console", (m) => {
    if (/Content Security Policy/.test(m.text())) page.faults.push(m.text());
  });
  await page.addInitScript((shown) => {
    new MutationObserver((_, o) => {
      if (!document.querySelector(shown)) return;
      o.disconnect();
      requestAnimationFrame(() => (window.firstShown = performance.now()));
    }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-bars"] });
  }, options.shown ?? "[data-span]");
  if (options.fails) await page.route("**/*", (route) => (/\/(api|querier)/.test(route.request().url()) ? route.fulfill(options.fails) : route.continue()));
  await page.goto(base + path);
  return page;
}

export async function done(page, shot) {
  if (shot) await page.screenshot({ path: join(story.shots, `${shot}.png`) });
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

export async function isAccessible(page) {
  // The policy allows no script from elsewhere; what the test brings is evaluated by the browser itself.
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const r = await window.axe.run(document, { resultTypes: ["violations"] });
    return r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  });
  assert.deepEqual(found, []);
}

/** The lowest rows of a flame graph from afar: mean colours of a grid, which fonts hardly change. PAGE_GOLDEN=write keeps
 * what is there. */
export async function looksLike(page, name, rows) {
  const grid = await page.evaluate((high) => {
    const c = document.querySelector(".flame-canvas");
    const small = document.createElement("canvas");
    small.width = 32;
    small.height = high / 20;
    const g = small.getContext("2d");
    g.imageSmoothingQuality = "high";
    const ratio = devicePixelRatio;
    g.drawImage(c, 0, c.height - high * ratio, c.width, high * ratio, 0, 0, small.width, small.height);
    return [...g.getImageData(0, 0, small.width, small.height).data].filter((_, i) => i % 4 < 3);
  }, rows * 20);
  const path = join(story.golden, `${name}.json`);
  if (process.env.PAGE_GOLDEN === "write") writeFileSync(path, `${JSON.stringify(grid)}\n`);
  const want = JSON.parse(readFileSync(path, "utf8"));
  assert.equal(grid.length, want.length, name);
  const off = grid.map((v, i) => Math.abs(v - want[i]));
  const mean = off.reduce((a, b) => a + b, 0) / off.length;
  const far = off.filter((d) => d > 60).length / off.length;
  assert.ok(mean < 8 && far < 0.02, `${name} differs from its golden picture: ${mean.toFixed(1)} on average, ${(far * 100).toFixed(1)} % far off`);
}

/** The address of a trace's view. */
export const trace = (id, more = "") => `/?view=trace&id=${id}${more}`;
export const params = (page) => new URL(page.url()).searchParams;
export const canvas = (page) => page.locator(".flame-canvas").first();

/** Runs what was named; PAGE_TEST picks those whose name has that text, or one of several between bars. */
export async function run() {
  console.log(`1..${tests.length}`);
  let failed = 0;
  const only = process.env.PAGE_TEST;
  for (const [i, { name, body }] of tests.entries()) {
    if (only && !only.split("|").some((part) => name.includes(part))) {
      console.log(`ok ${i + 1} - ${name} # SKIP not asked for`);
      continue;
    }
    try {
      await body();
      console.log(`ok ${i + 1} - ${name}`);
    } catch (e) {
      failed++;
      console.log(`not ok ${i + 1} - ${name}`);
      for (const line of String(e.stack ?? e).split("\n").slice(0, 14)) console.log(`# ${line}`);
      for (const [n, context] of browser.contexts().entries()) for (const page of context.pages()) await page.screenshot({ path: join(story.shots, `failed-${i + 1}-${n}.png`) }).catch(() => {});
    }
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
