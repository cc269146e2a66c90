// tab.mjs: tabs of a real browser that hold the page to account, and a runner that prints TAP.
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** What the caller told: addresses, ids, folders. */
export const story = JSON.parse(process.argv[2]);
const require = createRequire(join(story.web, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const tests = [];
/** `isLong`: left to `make check-all`. */
export const test = (name, body, isLong = false) => tests.push({ name, body, isLong });
export const longTest = (name, body) => test(name, body, true);
export const browser = await chromium.launch({
  executablePath: story.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...(story.args ?? [])],
});

/** How long a test waits before it gives up. Not a statement about the page: with 30 other busy processes on two cores, the dozens of
 * queries of the overview take longer than half a minute. */
const PATIENCE_MS = Number(process.env.PAGE_WAIT_MS ?? 120000);

/** Tabs that tests have left: a new process of the browser costs a second of CPU time, a page in one that has run the scripts
 * before a third of that. */
const free = [];

const blank = (page) => page.evaluate(() => (localStorage.clear(), sessionStorage.clear()));

async function newTab() {
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  // Recorded data is examined in the time it was recorded.
  if (story.nowMs !== undefined) await page.clock.setFixedTime(new Date(story.nowMs));
  page.on("pageerror", (e) => page.faults.push(String(e)));
  page.on("request", (r) => {
    // A page of another server that the tab showed before may still have asked.
    if (![page.base, page.before].some((base) => r.url().startsWith(base)) && !/^(data|blob):/.test(r.url())) page.faults.push(`left the host: ${r.url()}`);
  });
  page.on("console", (m) => {
    if (/Content Security Policy/.test(m.text())) page.faults.push(m.text());
  });
  return page;
}

/** A tab on that page, with nothing of an earlier test in its storage. What goes wrong in it or leaves the host is a failure of
 * its test. `isOwn`: a tab of its own; `shown`, too: window.firstShown is when that is on the screen. */
export async function open(path, options = {}) {
  const base = options.base ?? story.url;
  const isOwn = options.isOwn === true || options.shown !== undefined;
  const page = (isOwn ? undefined : free.pop()) ?? (await newTab());
  page.faults = [];
  page.before = page.base ?? base;
  page.base = base;
  page.isOwn = isOwn;
  await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
  await page.emulateMedia({ colorScheme: options.dark ? "dark" : "light", reducedMotion: "reduce" });
  if (options.shown !== undefined)
    await page.addInitScript((shown) => {
      new MutationObserver((_, o) => {
        if (!document.querySelector(shown)) return;
        o.disconnect();
        requestAnimationFrame(() => (window.firstShown = performance.now()));
      }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-bars"] });
    }, options.shown);
  if (options.fails) await page.route("**/*", (route) => (/\/(api|querier)/.test(route.request().url()) ? route.fulfill(options.fails) : route.continue()));
  await page.goto(base + path);
  return page;
}

/** A picture for those who look at them; of short tests with PAGE_SHOTS=1 only. */
export async function shoot(page, name) {
  if (story.part !== "short" || process.env.PAGE_SHOTS) await page.screenshot({ path: join(story.shots, `${name}.png`) });
}

/** The test is over: the tab waits for the next one, unless its server is gone. */
export async function done(page, shot) {
  if (shot) await shoot(page, shot);
  assert.deepEqual(page.faults, []);
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await blank(page);
  } catch {
    page.isOwn = true;
  }
  if (page.isOwn) await page.context().close();
  else free.push(page);
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

/** Seconds of CPU time of the program that started this one and of all that runs below it: servers, and the browser. */
function cpuSeconds() {
  const of = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      const [, parent, ...rest] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
      of.set(Number(pid), { parent: Number(parent), ticks: rest.slice(9, 13).reduce((n, t) => n + Number(t), 0) });
    } catch {
      // It has ended meanwhile.
    }
  const isBelow = (pid) => pid === process.ppid || (of.has(pid) && isBelow(of.get(pid).parent));
  return [...of].reduce((n, [pid, { ticks }]) => n + (isBelow(pid) ? ticks : 0), 0) / 100;
}

/** Runs the tests, or of story.part ("short", "long") those; PAGE_TEST picks of all those whose name has that text, or one of
 * several between bars. PAGE_CPU=1 prints what each costs. */
export async function run() {
  const only = process.env.PAGE_TEST?.split("|");
  const some = tests.filter(({ name, isLong }) => (only ? only.some((part) => name.includes(part)) : story.part === undefined || isLong === (story.part === "long")));
  console.log(`1..${some.length}`);
  let failed = 0;
  for (const [i, { name, body }] of some.entries()) {
    const before = process.env.PAGE_CPU ? cpuSeconds() : 0;
    try {
      await body();
      console.log(`ok ${i + 1} - ${name}`);
    } catch (e) {
      failed++;
      console.log(`not ok ${i + 1} - ${name}`);
      for (const line of String(e.stack ?? e).split("\n").slice(0, 14)) console.log(`# ${line}`);
      for (const [n, context] of browser.contexts().entries()) for (const page of context.pages()) await page.screenshot({ path: join(story.shots, `failed-${i + 1}-${n}.png`) }).catch(() => {});
    }
    const kept = new Set(free.map((page) => page.context()));
    for (const context of browser.contexts()) if (!kept.has(context)) await context.close();
    if (process.env.PAGE_CPU) console.log(`# ${(cpuSeconds() - before).toFixed(2)} s`);
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
