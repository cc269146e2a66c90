// page_bench.mjs STORY: frames and first views in a real browser; prints "name value unit".
import { browser, canvas, open, story } from "../tests/page/tab.mjs";

const { ids } = story;
const tell = (name, value, unit = "ms") => console.log(`${name} ${value.toFixed(1)} ${unit}`);
const middle = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

/** Milliseconds from the last byte of the answer to the first frame that shows it. */
async function firstView(name, path, answer, shown) {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const page = await open(path, { shown });
    await page.waitForFunction(() => window.firstShown !== undefined);
    times.push(await page.evaluate((part) => window.firstShown - Math.max(...performance.getEntriesByType("resource").filter((r) => r.name.includes(part) && r.responseEnd <= window.firstShown).map((r) => r.responseEnd)), answer));
    await page.context().close();
  }
  tell(name, middle(times));
}

async function zooming() {
  const page = await open("/?view=profiles&service=large");
  await canvas(page).waitFor();
  await page.waitForFunction(() => Number(document.querySelector(".flame-canvas")?.dataset.nodes) > 100000);
  const { drawn, frames } = await page.evaluate(async () => {
    const c = document.querySelector(".flame-canvas");
    c.focus();
    const key = (k) => c.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
    const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
    const drawn = [];
    const frames = [];
    for (let i = 0; i < 120; i++) {
      const began = performance.now();
      // In by one bar, and after six of them out to everything.
      for (const k of i % 7 === 6 ? ["Escape"] : ["ArrowUp", "Enter"]) key(k);
      await Promise.resolve();
      frames.push(performance.now() - began);
      await frame();
      drawn.push(Number(c.dataset.ms));
    }
    return { drawn, frames };
  });
  tell("page_flame_zoom_draw", middle(drawn));
  tell("page_flame_zoom_work", middle(frames));
  tell("page_flame_zoom_draw_most", Math.max(...drawn));
  await page.context().close();
}

/** The main thread's work, all of it (scripts, style, layout, painting), by its own clock: what else the machine does is not in it. */
async function workOf(page) {
  const tab = await page.context().newCDPSession(page);
  await tab.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => (await tab.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
}

const frame = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0))));

/** What requesting a frame and for the figure costs by itself is taken off. */
async function working(page, work, act, times) {
  const all = [];
  for (let i = 0; i < times; i++) {
    const a = await work();
    await frame(page);
    const b = await work();
    await act(i);
    await frame(page);
    all.push(Math.max(0, (await work()) - b - (b - a)));
  }
  return all.sort((x, y) => x - y);
}

/** The pointer goes over a graph of 100,000 bars, from bar to bar; then clicks zoom in, and Escape out. */
async function hovering() {
  const page = await open("/?view=profiles&service=large");
  await canvas(page).waitFor();
  await page.waitForFunction(() => Number(document.querySelector(".flame-canvas")?.dataset.nodes) > 100000);
  const work = await workOf(page);
  const box = await canvas(page).boundingBox();
  const hover = await working(page, work, (i) => page.mouse.move(box.x + 20 + ((i * 37) % (box.width - 40)), box.y + box.height - 10 - 20 * (i % 8)), 60);
  tell("page_flame_hover_work", middle(hover));
  tell("page_flame_hover_work_most_of_20", hover[Math.floor(hover.length * 0.95)]);
  await canvas(page).focus();
  const zoom = await working(page, work, (i) => (i % 6 === 5 ? page.keyboard.press("Escape") : page.mouse.click(box.x + 30 + i * 7, box.y + box.height - 10 - 20 * ((i % 6) + 1))), 60);
  tell("page_flame_click_zoom_work", middle(zoom));
  tell("page_flame_click_zoom_work_most_of_20", zoom[Math.floor(zoom.length * 0.95)]);
  await page.context().close();
}

async function scrolling() {
  const page = await open(`/?view=trace&id=${ids.big}`);
  await page.locator("[role=treegrid]").waitFor();
  await page.waitForTimeout(1500);
  const frames = await page.evaluate(async () => {
    const box = document.querySelector(".waterfall-scroll");
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 240; i++) {
      box.scrollTop += 90;
      await new Promise((r) => requestAnimationFrame(r));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    return times;
  });
  tell("page_waterfall_scroll_frame", middle(frames));
  const work = await workOf(page);
  const scroll = await working(page, work, () => page.evaluate(() => void (document.querySelector(".waterfall-scroll").scrollTop += 400)), 60);
  tell("page_waterfall_scroll_work", middle(scroll));
  tell("page_waterfall_scroll_work_most_of_20", scroll[Math.floor(scroll.length * 0.95)]);
  // A letter more or less in the field that finds spans, and the root row folded and unfolded.
  const find = page.getByLabel("Find spans");
  await find.focus();
  const typed = await working(page, work, (i) => page.keyboard.press(i % 10 < 5 ? "step9"[i % 5] : "Backspace"), 40);
  tell("page_waterfall_filter_work", middle(typed));
  tell("page_waterfall_filter_work_most_of_20", typed[Math.floor(typed.length * 0.95)]);
  await find.fill("");
  await page.locator(".waterfall-scroll").focus();
  await page.keyboard.press("Home");
  const folds = await working(page, work, (i) => page.keyboard.press(i % 2 === 0 ? "ArrowLeft" : "ArrowRight"), 40);
  tell("page_waterfall_fold_work", middle(folds));
  tell("page_waterfall_fold_work_most_of_20", folds[Math.floor(folds.length * 0.95)]);
  await page.context().close();
}

await hovering();
await zooming();
await scrolling();
await firstView("page_first_overview", "/", "/api/v1/services", "tbody tr");
await firstView("page_first_trace", `/?view=trace&id=${ids.slow}`, "/api/v1/trace/", "[data-span]");
await firstView("page_first_trace_10000", `/?view=trace&id=${ids.big}`, "/api/v1/trace/", "[data-span]");
await firstView("page_first_span_profile", `/?view=trace&id=${ids.slow}&span=${ids.slowSpan}&pane=profile`, "/profile", ".flame-canvas[data-bars]");
await firstView("page_first_flame_100000", "/?view=profiles&service=large", "/api/v1/profile", ".flame-canvas[data-bars]");
await browser.close();
