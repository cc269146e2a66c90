// shots.mjs STORY: the pictures of README.md and docs/page.md, from the recorded demo (`make shots`); prints TAP. With
// story.compare, nothing is written: the pictures in the tree have to be of the page as it is today.
import { strict as assert } from "node:assert";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browser, done, open, run, story, test } from "./tab.mjs";

mkdirSync(story.images, { recursive: true });
const range = `from=${story.nowMs - 70e3}&until=${story.nowMs - 35e3}`;
// Another version of the browser or of a font moves edges of letters, another layout moves whole areas.
const MAX_DIFFERENT = 0.03;

/** The share of pixels in which two PNG files clearly differ; 1 when their sizes do. */
async function difference(one, other) {
  const blank = await browser.newPage();
  const share = await blank.evaluate(
    async (files) => {
      const [a, b] = await Promise.all(
        files.map(async (base64) => {
          const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
          const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          canvas.drawImage(bitmap, 0, 0);
          return canvas.getImageData(0, 0, bitmap.width, bitmap.height);
        }),
      );
      if (a.width !== b.width || a.height !== b.height) return 1;
      let n = 0;
      for (let i = 0; i < a.data.length; i += 4) if ([0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > 48)) n++;
      return n / (a.width * a.height);
    },
    [one.toString("base64"), other.toString("base64")],
  );
  await blank.close();
  return share;
}

async function keep(page, name) {
  const path = join(story.images, `${name}.png`);
  const shot = await page.screenshot();
  if (!story.compare) return writeFileSync(path, shot);
  const share = await difference(readFileSync(path), shot);
  writeFileSync(join(story.shots, `${name}-today.png`), shot);
  assert.ok(share <= MAX_DIFFERENT, `docs/images/${name}.png differs from today's page in ${(100 * share).toFixed(1)} % of its pixels; run make shots and look at it`);
}

if (story.compare)
  test("a picture of another view is noticed", async () => {
    const [trace, compare] = ["trace", "compare"].map((name) => readFileSync(join(story.images, `${name}.png`)));
    assert.equal(await difference(trace, trace), 0);
    assert.ok((await difference(trace, compare)) > MAX_DIFFERENT);
  });

/** The span that spent the largest share of its duration in a function. */
const spanIn = (page, name) =>
  page.evaluate(async (query) => {
    const all = (await (await fetch(`/api/v1/frames/spans?${query}`)).json()).spans;
    all.sort((a, b) => b.value / b.durationNs - a.value / a.durationNs);
    return all[0];
  }, new URLSearchParams({ function: name, limit: "100", from: String(story.nowMs - 70e3), until: String(story.nowMs - 35e3) }).toString());

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
    const slow = await spanIn(page, "applyLegacyTax");
    await page.goto(`${story.url}/?view=trace&id=${slow.traceId}&span=${slow.spanId}&${range}`);
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
