// shots.mjs STORY: the pictures of README.md and docs/page.md, from the recorded demo (`make shots`); prints TAP.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { done, open, run, story, test } from "./tab.mjs";

mkdirSync(story.images, { recursive: true });
const range = `from=${story.nowMs - 70e3}&until=${story.nowMs - 35e3}`;
const keep = (page, name) => page.screenshot({ path: join(story.images, `${name}.png`) });

/** The slowest trace a query finds, asked as the page asks. */
export const slowest = (page, q) =>
  page.evaluate(async (query) => {
    const all = (await (await fetch(`/api/search?${query}`)).json()).traces.map((t) => ({ trace: t.traceID, ...t.spanSets[0].spans[0] }));
    all.sort((a, b) => Number(b.durationNanos) - Number(a.durationNanos));
    return all[0];
  }, new URLSearchParams({ q, limit: "400", spss: "1", start: String(Math.floor(story.nowMs / 1e3) - 70), end: String(Math.floor(story.nowMs / 1e3)) }).toString());

test("services", async () => {
  const page = await open(`/?${range}`);
  // A busy machine has no time for findings at the first go.
  for (let i = 0; i < 5; i++) {
    await page.waitForLoadState("networkidle");
    if ((await page.locator(".answers article").count()) > 0) break;
    await page.reload();
  }
  await page.locator(".answers article").first().waitFor();
  await page.getByRole("table", { name: "Slowest requests" }).waitFor();
  await page.waitForLoadState("networkidle");
  await keep(page, "services");
  await done(page);
});

test("a trace", async () => {
  for (const dark of [false, true]) {
    const page = await open(`/?${range}`, { dark });
    const slow = await slowest(page, '{ name = "order.calculate_totals" }');
    await page.goto(`${story.url}/?view=trace&id=${slow.trace}&span=${slow.spanID}&${range}`);
    await page.locator(".side [data-answer]").waitFor();
    await page.locator(".flame-canvas").waitFor();
    await page.locator(".piece").first().waitFor();
    await page.waitForLoadState("networkidle");
    await keep(page, dark ? "trace-dark" : "trace");
    await done(page);
  }
});

test("a deploy, before and after", async () => {
  const page = await open(`/?view=deploys&${range}`);
  await page.getByRole("link", { name: "Before and after" }).first().click();
  await page.locator("[data-answer]").filter({ hasText: /evaluateRules/ }).first().waitFor();
  await page.getByRole("img", { name: /^From / }).waitFor();
  await page.waitForLoadState("networkidle");
  await keep(page, "compare");
  await done(page);
});

await run();
