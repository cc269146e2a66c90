// odd.mjs STORY: stores that are unlike the demo; prints TAP. Every test leaves a picture.
import { strict as assert } from "node:assert";
import { canvas, done, isAccessible, open, story, test, run } from "./tab.mjs";

const { at } = story;

/** The same at three widths and in both themes; nothing scrolls sideways. */
async function pictures(page, name) {
  for (const scheme of ["light", "dark"])
    for (const width of [1280, 768, 390]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: width === 390 ? 844 : 720 });
      await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways at ${width}`);
      await page.screenshot({ path: `${story.shots}/${name}-${width}-${scheme}.png` });
    }
  await done(page);
}

test("200 services are a table that is filtered, and a map that folds", async () => {
  const page = await open("/", { base: at.crowd });
  await page.getByRole("table", { name: "Services" }).waitFor();
  await page.waitForFunction(() => /21\d/.test(document.querySelector(".services .toolbar")?.innerText ?? ""));
  await page.getByText("are too many for this corner", { exact: false }).waitFor();
  assert.ok((await page.locator("table[aria-label=Services] tbody tr").count()) < 80, "few rows exist");
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/200-services.png` });
  await page.getByLabel("Filter services").fill("service-042");
  await page.getByRole("group", { name: /^Service map: 3 services/ }).waitFor();
  await page.getByRole("link", { name: "service-042" }).first().click();
  await page.locator(".heatmap canvas").waitFor();
  await pictures(page, "200-services-one");
});

test("one service without profiles has its figures, and says what profiles would add", async () => {
  const page = await open("/", { base: at.lone });
  const row = page.getByRole("row", { name: /^alone / });
  await row.getByText("no profiles").waitFor();
  await page.getByText("No service calls another in this time").waitFor();
  await page.screenshot({ path: `${story.shots}/one-service.png` });
  const copy = await open("/", { base: at.lone });
  await copy.getByRole("row", { name: /^alone / }).getByText("no profiles").waitFor();
  await pictures(copy, "one-service");
  await page.getByRole("table", { name: "Slowest requests" }).getByRole("link", { name: "Why slow?" }).first().click();
  await page.locator(".side [data-answer]").filter({ hasText: /unknown \(no profiles of alone were received for its time\)/ }).waitFor();
  await page.locator(".side").getByRole("link", { name: "No samples: what is missing" }).waitFor();
  await isAccessible(page);
  await pictures(page, "no-profiles");
});

test("profiles without traces lead to the profiles", async () => {
  const page = await open("/", { base: at.profiles });
  await page.getByText("Profiles only.").waitFor();
  await page.screenshot({ path: `${story.shots}/profiles-only.png` });
  await page.getByRole("link", { name: "Open the profiles" }).click();
  await canvas(page).waitFor();
  await pictures(page, "profiles-only-graph");
});

test("data outside of the range leads to the data", async () => {
  const page = await open("/?from=now-5m&until=now-4m", { base: at.lone });
  await page.getByRole("link", { name: "Show the last 6h" }).click();
  await page.getByRole("row", { name: /^alone / }).waitFor();
  await done(page);
});

test("a missing root is said", async () => {
  const page = await open(`/?view=trace&id=${story.headless}`);
  await page.getByText("The root of this trace was not received", { exact: false }).waitFor();
  await page.getByText("parent missing").first().waitFor();
  await isAccessible(page);
  await pictures(page, "missing-root");
});

test("clocks that contradict each other are corrected and said", async () => {
  const page = await open(`/?view=trace&id=${story.skewed}`);
  await page.getByText(/The clock of ahead is .*ahead of that of front/).waitFor();
  await page.locator(".span-name").getByText("clock").first().waitFor();
  await pictures(page, "skew");
});

test("30 days are readable", async () => {
  const page = await open("/?view=service&service=long-lived&from=now-30d&until=now");
  await page.locator(".heatmap canvas").waitFor();
  await page.locator(".plot-over").first().waitFor();
  assert.ok((await page.locator(".heat-dot").count()) <= 16);
  await page.waitForLoadState("networkidle");
  assert.deepEqual(await page.locator(".note.bad, [role=alert]").allInnerTexts(), [], "no part of it fails");
  await page.screenshot({ path: `${story.shots}/30-days.png` });
  await page.goto(`${story.url}/?from=now-30d&until=now`);
  await page.getByRole("region", { name: "Entry requests" }).getByText("/h").waitFor();
  await page.getByRole("row", { name: /long-lived/ }).waitFor();
  await pictures(page, "30-days-overview");
});

test("10,000 spans have few rows, and fold by service", async () => {
  const page = await open(`/?view=trace&id=${story.big}`);
  await page.locator("[data-span]").first().waitFor();
  assert.ok((await page.locator(".span-row").count()) < 80);
  await page.getByLabel("Find spans").fill("step 9999");
  await page.locator(".span-row.match").waitFor();
  await pictures(page, "10000-spans");
});

await run();
