// browser.mjs STORY: what a person does with the page, in a real browser against a real server; prints TAP.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { canvas, done, isAccessible, looksLike, open, params, run, story, test } from "./tab.mjs";

const { ids } = story;
const trace = (id, more = "") => `/?view=trace&id=${id}${more}`;

test("the overview lists services with rate, errors and latency", async () => {
  const page = await open("/");
  const row = page.getByRole("row", { name: /order-service/ });
  await row.waitFor();
  assert.match(await row.innerText(), /ms/);
  await page.waitForFunction(() => /cores/.test(document.body.innerText) && /420\sMiB/.test(document.body.textContent));
  await row.getByRole("link", { name: /takes|calls|regex/ }).first().waitFor();
  // Figures of requests, not of spans: a dozen spans of a service are one request of it.
  const kpis = page.getByRole("region", { name: "Entry requests" });
  await kpis.getByText("/min").first().waitFor();
  await page.getByRole("article").filter({ hasText: /regex/ }).first().getByRole("link", { name: "Why slow?" }).waitFor();
  await page.getByRole("group", { name: /^Service map/ }).getByRole("link", { name: /^order-service/ }).waitFor();
  await page.getByRole("table", { name: "Slowest requests" }).getByRole("link", { name: "Why slow?" }).first().waitFor();
  await isAccessible(page);
  await page.getByLabel("Filter services").fill("pay");
  await page.getByText(/^1 of 1\d$/).waitFor();
  await page.getByRole("button", { name: "Errors" }).click();
  await page.waitForURL(/map=errors/);
  await done(page, "overview");
});

test("a latency chart works without a mouse", async () => {
  const page = await open("/?view=service&service=order-service&operation=order.calculate_totals");
  await page.getByText("Without a mouse").press("Enter");
  await page.getByLabel("At least").fill("500");
  await page.getByLabel(/^at most/).fill("2000");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Compare these spans with the rest" }).waitFor();
  await page.getByRole("button", { name: /^Trace of 880 ms at/ }).first().press("Enter");
  await page.locator(".waterfall-scroll").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "z"]) await page.keyboard.press(key);
  await page.waitForURL(/tz=/);
  await page.keyboard.press("Enter");
  await canvas(page).waitFor();
  await done(page);
});

test("from a service to a slow trace by a dot of the heatmap", async () => {
  const page = await open("/");
  await page.getByRole("link", { name: "gateway", exact: true }).first().click();
  await page.locator(".heatmap canvas").waitFor();
  await page.waitForTimeout(300);
  // Dots are few, the slow ones first.
  const dots = page.locator(".heat-dot");
  assert.ok((await dots.count()) <= 16);
  await dots.first().click();
  await page.locator("[role=treegrid]").waitFor();
  assert.equal(params(page).get("view"), "trace");
  await done(page, "dot");
});

test("a box over slow dots compares them with the rest", async () => {
  const page = await open("/?view=service&service=order-service&operation=order.calculate_totals");
  await page.locator(".heatmap canvas").waitFor();
  await page.waitForTimeout(300);
  const box = await page.locator(".heatmap canvas").boundingBox();
  await page.mouse.move(box.x + 70, box.y + 24);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("link", { name: "Compare these spans with the rest" }).click();
  await page.locator("[data-answer]").filter({ hasText: /Right spans take .* mostly lookupRate/ }).waitFor();
  await page.getByRole("table", { name: "Parts of the duration" }).getByRole("row", { name: /^on CPU/ }).waitFor();
  await page.getByRole("table", { name: "Functions that differ" }).waitFor();
  await canvas(page).waitFor();
  await isAccessible(page);
  await done(page, "compare");
});

test("a click on a bar says why, in a sentence and a table that add up, with a graph of all the time", async () => {
  const page = await open(trace(ids.slow));
  await page.locator(`[data-span="${ids.slowSpan}"] .bar-body`).click();
  await canvas(page).waitFor();
  assert.equal(params(page).get("pane"), "why");
  assert.ok(await page.locator("[role=treegrid]").isVisible(), "the waterfall is still there");
  const says = page.locator(".side [data-answer]");
  await says.filter({ hasText: /^880 ms: .*running/ }).waitFor();
  const rows = await page.getByRole("table", { name: "Time breakdown" }).locator("tbody tr").allInnerTexts();
  const sum = rows.reduce((n, r) => n + Number(/([\d.]+)\s*ms/.exec(r)[1]), 0);
  assert.ok(Math.abs(sum - 880) < 5, `${rows} add up to the span`);
  assert.ok(Number(await canvas(page).getAttribute("data-bars")) > 8);
  await page.getByText("% of 880 ms").waitFor();
  // A part alone, and all of it again.
  await page.getByRole("table", { name: "Time breakdown" }).getByRole("button", { name: "running" }).click();
  await page.waitForURL(/part=cpu/);
  await page.getByRole("button", { name: "All of it" }).click();
  // Folded, the graph has most of the pane.
  await page.getByRole("button", { name: "Fold the answer" }).click();
  await page.waitForURL(/brief=1/);
  const share = await page.evaluate(() => document.querySelector(".flame-body").getBoundingClientRect().height / document.querySelector(".side").getBoundingClientRect().height);
  assert.ok(share >= 0.7, `the graph has ${share} of the pane`);
  await page.keyboard.press("f");
  await page.waitForFunction(() => !location.search.includes("brief"));
  // Samples of one type, of the span alone and of other types.
  await page.getByRole("button", { name: "CPU", exact: true }).click();
  await page.waitForURL(/mode=cpu/);
  await page.getByText("750 ms").first().waitFor();
  await page.getByRole("button", { name: "Self", exact: true }).click();
  await page.waitForFunction(() => document.querySelector(".span-profile b")?.textContent !== "750 ms");
  await page.getByLabel("Other profiles").selectOption({ label: "heap in use" });
  await page.getByText("MiB", { exact: false }).first().waitFor();
  await done(page, "span-profile");
});

test("a trace opens on the span that was waited for most, and says when its root is missing", async () => {
  const page = await open(trace(ids.slow));
  await page.locator(".side").getByText("order.check_price_rules").first().waitFor();
  await page.locator(".trace-title").getByText(/the median/).waitFor();
  await page.getByRole("separator", { name: "Width of the panes" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => localStorage.getItem("spanflame.split") === "49");
  await page.getByLabel("Find spans").fill("order");
  await page.getByText("4 found").waitFor();
  await page.getByRole("button", { name: "Next match" }).click();
  await page.waitForURL(/span=/);
  await page.keyboard.press("]");
  await page.getByText("2 of 4 found").waitFor();
  await page.getByRole("button", { name: "Service", exact: true }).click();
  await page.waitForURL(/colour=service/);
  await page.getByRole("button", { name: "Close" }).click();
  await page.locator(".side").waitFor({ state: "detached" });
  await isAccessible(page);
  assert.equal(await page.title(), "GET /checkout 900 ms · Spanflame");
  await done(page, "trace");
});

test("a gap without child spans says what ran in it", async () => {
  const page = await open(trace(ids.slow));
  const gap = page.getByRole("button", { name: /of order.calculate_totals without a child span/ }).first();
  await gap.waitFor();
  assert.match(await gap.getAttribute("title"), /lookupRate/);
  await gap.click();
  await canvas(page).waitFor();
  assert.equal(params(page).get("self"), "1");
  await page.getByText("60 samples", { exact: false }).first().waitFor(); // four records of a pprof add them up
  await page.getByRole("button", { name: "Why slow? SELECT prices" }).last().click();
  await page.getByRole("button", { name: "CPU", exact: true }).click();
  await page.getByText("How to have more samples here").click();
  await page.locator(".missing, details p").first().waitFor();
  await done(page, "gap");
});

test("every span has its button, reachable and named", async () => {
  const page = await open(trace(ids.slow));
  await page.getByRole("button", { name: "Why slow? pay.charge" }).last().click();
  await page.locator(".side").waitFor();
  await page.locator(".side").getByText("pay.charge").first().waitFor();
  await isAccessible(page);
  await done(page, "span-other");
});

test("the call tree nests callees and names what 100 % is", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=why&mode=cpu&fv=calls`));
  const row = page.getByRole("table", { name: "Call tree" }).getByRole("row", { name: /lookupRate/ });
  await row.waitFor();
  assert.match(await row.innerText(), /↳/);
  assert.match(await row.innerText(), /56 %/);
  await page.locator("th select").selectOption({ index: 1 });
  await page.waitForFunction(() => /48 %/.test([...document.querySelectorAll("tr")].map((r) => r.innerText).join("\n")));
  await done(page, "call-tree");
});

test("a span against a fast one like it shows what only the slow one does", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=compare&fv=table`));
  const row = page.getByRole("row", { name: /lookupRate/ });
  await row.waitFor();
  assert.match(await row.innerText(), /\+420 ms/);
  await done(page, "span-compare");
});

test("the whole trace is one flame graph by critical path", async () => {
  const page = await open(trace(ids.slow, "&tab=flame"));
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "wall clock" }).click();
  await page.waitForURL(/by=wall/);
  await page.getByRole("button", { name: "Table" }).first().click();
  await page.getByRole("row", { name: /pay.charge/ }).waitFor();
  await done(page);
});

test("the flame graph is driven by keys", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile&mode=cpu`));
  await canvas(page).waitFor();
  await page.keyboard.press("/");
  assert.ok(await page.evaluate(() => document.activeElement.closest(".find") !== null), "the page's own field");
  await page.keyboard.press("Escape");
  await canvas(page).focus();
  await page.keyboard.press("/");
  await page.keyboard.type("^apply");
  await page.getByText(/1 matches, 64 % through them/).waitFor();
  await page.keyboard.press("Escape");
  await canvas(page).focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/fz=/);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.search.includes("fz="));
  await page.keyboard.press("2");
  await page.getByRole("table", { name: "Functions" }).waitFor();
  await page.keyboard.press("i");
  await page.waitForURL(/fi=1/);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await done(page, "keys");
});

test("callers and callees of a function by its menu", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile&mode=cpu`));
  await canvas(page).waitFor();
  await page.waitForTimeout(200);
  const box = await canvas(page).boundingBox();
  await page.mouse.click(box.x + 60, box.y + box.height - 20 * 4.5, { button: "right" });
  await page.getByRole("menuitem", { name: "Callers and callees" }).click();
  await page.getByText("Above: who calls", { exact: false }).waitFor();
  assert.equal(await page.locator(".flame-canvas").count(), 2);
  await done(page, "sandwich");
});

test("zooming asks for what was cut, and a pasted link does so too", async () => {
  const page = await open("/?view=profiles&service=large&nodes=300");
  await canvas(page).waitFor();
  await page.getByText("Small branches are summed up").waitFor();
  const before = Number(await canvas(page).getAttribute("data-nodes"));
  await canvas(page).focus();
  const asked = page.waitForResponse((r) => r.url().includes("call_site="));
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await asked;
  await page.waitForFunction((n) => Number(document.querySelector(".flame-canvas").dataset.nodes) > n + 20, before);
  // Deeper than the first answer reached.
  for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(200);
  const name = await page.locator(".flame-status").first().innerText();
  assert.match(name, /^pkg/);
  const copy = await open(new URL(page.url()).pathname + new URL(page.url()).search);
  await copy.waitForFunction((n) => Number(document.querySelector(".flame-canvas")?.dataset.nodes) > n + 20, before);
  await copy.waitForFunction((at) => location.search.includes(at), new URLSearchParams({ fz: params(page).get("fz") }).toString());
  assert.equal(await canvas(copy).getAttribute("data-zoom"), await canvas(page).getAttribute("data-zoom"), "the same bar");
  await done(copy);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Load everything" }).click();
  await page.getByText("Small branches are summed up").waitFor({ state: "detached" });
  await done(page, "cut");
});

test("from a frame to the spans that ran it", async () => {
  const page = await open("/?view=profiles&service=order-service&fs=lookupRate");
  await canvas(page).waitFor();
  await page.getByText("through them").waitFor();
  await canvas(page).focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "Spans that ran this" }).press("Enter");
  await page.waitForURL(/view=spans/);
  await page.getByRole("table", { name: "Spans" }).getByRole("link", { name: "order.calculate_totals" }).first().waitFor();
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/frame-spans.png` });
  await page.getByRole("link", { name: "order.calculate_totals" }).first().click();
  await canvas(page).waitFor();
  assert.equal(params(page).get("pane"), "why");
  await done(page);
});

test("looks of a graph are in the address: focus, hiding, groups, folds, recursion, base", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile&mode=cpu`));
  await canvas(page).waitFor();
  const menu = async (words) => {
    await canvas(page).focus();
    await page.keyboard.press("Escape");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("m");
    await page.getByRole("menuitem", { name: words }).click();
  };
  await menu("Focus: only stacks through it");
  await page.waitForURL(/fx=/);
  await page.getByRole("button", { name: "Focus ✕" }).click();
  await menu("Hide: give it to its callers");
  await page.waitForURL(/fh=/);
  await page.getByRole("button", { name: "More of the graph" }).click();
  await page.getByLabel("Bars stand for").selectOption("package");
  await page.getByRole("combobox", { name: "Fold" }).selectOption("library");
  await page.getByLabel("no recursion").check();
  await page.keyboard.press("Escape");
  await page.keyboard.press("4");
  await page.locator("th select").selectOption("duration");
  await page.waitForURL(/fb=duration/);
  await page.getByRole("button", { name: /^Callees of/ }).first().click();
  await page.waitForURL(/fo=/);
  const want = new URL(page.url());
  const rows = await page.getByRole("table", { name: "Call tree" }).locator("tbody tr").count();
  const copy = await open(want.pathname + want.search);
  await copy.getByRole("table", { name: "Call tree" }).waitFor();
  assert.equal(await copy.locator("th select").inputValue(), "duration");
  assert.equal(await copy.getByRole("table", { name: "Call tree" }).locator("tbody tr").count(), rows);
  await copy.getByRole("button", { name: "More of the graph" }).click();
  assert.ok(await copy.getByLabel("no recursion").isChecked());
  assert.equal(await copy.getByLabel("Bars stand for").inputValue(), "package");
  await copy.getByRole("button", { name: "Show 1 hidden" }).click();
  await copy.waitForFunction(() => !location.search.includes("fh="));
  await copy.goBack();
  await copy.waitForURL(/fh=/);
  await done(copy);
  await done(page);
});

test("a folded span stays folded in a pasted link", async () => {
  const page = await open(trace(ids.slow));
  const rows = page.locator("[data-span]");
  await rows.first().waitFor();
  assert.equal(await rows.count(), 6);
  await page.locator(`[data-span="${ids.slowSpan}"]`).getByRole("button", { name: "Fold" }).click();
  await page.waitForFunction(() => document.querySelectorAll("[data-span]").length === 3);
  const copy = await open(new URL(page.url()).pathname + new URL(page.url()).search);
  await copy.getByText("+3").waitFor();
  assert.equal(await copy.locator("[data-span]").count(), 3);
  await done(copy);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("[data-span]").length === 6);
  await done(page);
});

test("differences are absolute, relative or per request", async () => {
  const inner = 'name = "order.calculate_totals"';
  const type = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
  const page = await open(`/?${new URLSearchParams({ view: "compare", type, left: `{ ${inner} && duration < 500ms }`, right: `{ ${inner} && duration >= 500ms }` })}`);
  await canvas(page).waitFor();
  await page.getByText("values are per request").waitFor();
  await page.keyboard.press("3");
  const row = page.getByRole("row", { name: /lookupRate/ }).last();
  await row.waitFor();
  assert.match(await row.innerText(), /\+420 ms/);
  await page.getByRole("button", { name: "More of the graph" }).click();
  await page.getByLabel("Difference", { exact: true }).selectOption("absolute");
  await page.waitForURL(/fd=absolute/);
  // Twelve slow requests of 420 ms each.
  assert.match(await row.innerText(), /\+5\.04 s/);
  await page.getByLabel("Difference", { exact: true }).selectOption("relative");
  await page.waitForURL(/fd=relative/);
  await done(page);
});

test("a frame leads to its source by the user's template", async () => {
  const page = await open("/");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel(/Source of a frame/).fill("ftp://x");
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByText("A link begins with http").waitFor();
  await page.getByLabel(/Source of a frame/).fill("http://git.example/{function}#L{line}");
  await page.getByRole("button", { name: "Keep" }).click();
  assert.equal(await page.evaluate(() => localStorage.getItem("spanflame.sourceTemplate")), "http://git.example/{function}#L{line}");
  await isAccessible(page);
  await done(page);
});

test("exports are files with the profile in them", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile&mode=cpu`));
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "More of the graph" }).click();
  const has = { folded: /applyLegacyTax;lookupRate 420000000/, svg: /<title>lookupRate/, speedscope: /speedscope/, png: /PNG/, pprof: /^\x1f\x8b/ };
  for (const [format, words] of Object.entries(has)) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByLabel("Export").selectOption(format)]);
    assert.match(readFileSync(await download.path(), "latin1"), words);
  }
  await done(page);
});

test("a search by TraceQL, with completion from real data", async () => {
  const page = await open("/?view=search");
  const editor = page.getByRole("combobox", { name: "TraceQL query" });
  await editor.fill("");
  await editor.pressSequentially("{ resource.serv");
  await page.getByRole("option", { name: "resource.service.name" }).click();
  await editor.pressSequentially(" = ");
  await page.getByRole("option", { name: '"order-service"' }).click();
  await editor.pressSequentially(" && duration > 500ms }");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Traces] tbody tr").length === 12);
  await page.getByLabel("Columns").fill("span.order.items");
  await page.keyboard.press("Tab");
  await page.getByRole("columnheader", { name: "span.order.items" }).waitFor();
  await isAccessible(page);
  // What the spans are, with counts: a click narrows the query.
  await editor.fill("{ duration > 100ms }");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByRole("group", { name: "Narrow by" }).getByRole("button", { name: /order\.calculate_totals/ }).click();
  await page.waitForFunction(() => /calculate_totals/.test(location.search));
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Traces] tbody tr").length === 50);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Saved", exact: true }).waitFor();
  await page.getByRole("button", { name: /^Queries/ }).click();
  assert.ok((await page.getByRole("dialog", { name: "Queries" }).getByRole("button").count()) >= 5, "saved, recent, examples");
  await page.keyboard.press("Escape");
  await page.screenshot({ path: `${story.shots}/search.png` });
  await page.getByRole("link", { name: "GET /checkout" }).first().click();
  await canvas(page).waitFor();
  await done(page);
});

test("a pasted id opens its trace or span, from both fields", async () => {
  const page = await open("/");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(ids.slow.toUpperCase());
  await page.keyboard.press("Enter");
  await page.locator(`[data-span="${ids.slowSpan}"]`).waitFor();
  await page.goto(`${story.url}/?view=search`);
  const editor = page.getByRole("combobox", { name: "TraceQL query" });
  await editor.fill(ids.slowSpan);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.waitForURL((u) => u.searchParams.get("id") === ids.slow && u.searchParams.get("span") === ids.slowSpan);
  await page.locator(".side").getByText("order.calculate_totals").first().waitFor();
  await done(page);
});

test("a query with a metric is a chart, and what is wrong is said while it is written", async () => {
  const page = await open(`/?view=search&q=${encodeURIComponent("{ } | rate() by (resource.service.name)")}`);
  await page.locator(".u-over").waitFor();
  await page.getByText("order-service").first().waitFor();
  assert.equal(await page.getByRole("table", { name: "Traces" }).count(), 0);
  await page.screenshot({ path: `${story.shots}/search-chart.png` });
  const editor = page.getByRole("combobox", { name: "TraceQL query" });
  await editor.fill("{ status = = error }");
  await page.getByText("parse error at line 1, col 12", { exact: false }).waitFor();
  await page.locator(".u-over").waitFor();
  await done(page);
});

test("a mistake in a query is underlined where it is", async () => {
  const page = await open(`/?view=search&q=${encodeURIComponent("{ status = = error }")}`);
  await page.getByRole("alert").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".editor-marks mark"));
  assert.equal(await page.getByRole("table", { name: "Traces" }).count(), 0, "nothing of another query stays");
  assert.equal(await page.locator(".editor-marks mark").innerText(), "=");
  await done(page, "fault");
});

test("form fields write the query", async () => {
  const page = await open("/?view=search");
  await page.getByRole("button", { name: "Form" }).click();
  await page.getByLabel("Status").selectOption("error");
  await page.getByRole("button", { name: "Write and run" }).click();
  await page.waitForURL(/status/);
  assert.equal(params(page).get("q"), "{ status = error }");
  await done(page);
});

test("profiles of a service, and a time before as the baseline", async () => {
  const page = await open("/?view=profiles&service=order-service");
  await canvas(page).waitFor();
  await page.locator(".u-over").waitFor();
  await page.getByRole("button", { name: /Compare with a time before/ }).click();
  await page.waitForTimeout(300);
  const box = await page.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/base=/);
  await page.getByText("only in the baseline").first().waitFor();
  await page.getByLabel("side by side").check();
  await page.waitForFunction(() => document.querySelectorAll(".flame-canvas").length === 2);
  await page.getByLabel("side by side").uncheck();
  await isAccessible(page);
  await done(page, "profiles");
});

test("findings say what to look at", async () => {
  const page = await open("/?view=findings&service=order-service");
  await page.getByText(/regex\.\w+ (alone )?takes/).waitFor();
  await isAccessible(page);
  await page.getByRole("button", { name: "Dismiss" }).first().click();
  await page.getByText("Dismissed in this browser").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.screenshot({ path: `${story.shots}/findings.png` });
  await page.getByRole("link", { name: "Show in the graph" }).first().click();
  await page.getByText(/through them/).waitFor();
  await done(page);
});

test("coverage says how to mend a missing link", async () => {
  const page = await open("/?view=coverage&service=payments");
  await page.locator(".missing").first().waitFor();
  await page.getByText("samples that name a span").waitFor();
  await page.getByRole("table", { name: "Coverage of services" }).getByRole("row", { name: /order-service/ }).waitFor();
  await isAccessible(page);
  await done(page, "coverage");
});

const poll = async (more = "", base = story.url, token = "") => {
  const q = `service=shop&instance=pod-1&host=node-7&pid=4711&agent=libspanflame&rate=97&cost=4200&format=text${more}`;
  const answer = await fetch(`${base}/api/v1/control?${q}`, token === "" ? {} : { headers: { Authorization: `Bearer ${token}` } });
  return answer.text();
};

test("collectors are listed, switched off and on, and captured", async () => {
  await poll("&problem=perf+events+are+not+allowed");
  const page = await open("/");
  await page.getByRole("link", { name: "Collectors" }).click();
  const row = page.getByRole("row", { name: /pod-1/ });
  await row.filter({ hasText: "97 Hz" }).filter({ hasText: "0.4 %" }).filter({ hasText: "node-7, 4711" }).filter({ hasText: "perf events are not allowed" }).waitFor();
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/collectors.png` });
  await page.getByRole("button", { name: "Off: shop", exact: true }).click();
  await page.getByText("Profiling is off for shop: 1 known collectors", { exact: false }).waitFor();
  assert.match(await poll(), /^enabled false$/m);
  await page.getByRole("button", { name: "On: shop, pod-1" }).click();
  await page.getByText("Profiling is on for shop, pod-1", { exact: false }).waitFor();
  assert.match(await poll(), /^enabled true$/m);
  await row.getByText("paused").or(row.getByText("97 Hz")).first().waitFor();
  await page.getByRole("button", { name: "Capture: shop", exact: true }).click();
  await page.getByText("0 of 1 collectors done", { exact: false }).waitFor();
  const id = /^capture (\S+) cpu 100 10$/m.exec(await poll())[1];
  await poll(`&capture=${id}&from=1700000000000000000&until=1700000010000000000`);
  await page.getByRole("link", { name: "Show the profile" }).click();
  await page.waitForURL(/view=profiles&from=1700000000000&service=shop&until=1700000010000/);
  await done(page);
});

test("a trace is pinned with an end and a note, listed, and let go", async () => {
  const page = await open(trace(ids.fast));
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  await page.getByLabel("For").selectOption("30d");
  await page.getByLabel("Note").fill("incident <7>");
  await page.getByRole("button", { name: "Pin this trace" }).click();
  await page.getByText("Pinned until", { exact: false }).waitFor();
  await isAccessible(page);
  const own = async () => (await (await fetch(`${story.url}/api/v1/pins`)).json()).pins.filter((p) => !p.note.startsWith("alert: "));
  assert.deepEqual((await own()).map((p) => [p.traceId, p.note, (p.untilUnixNano - p.createdUnixNano) / 86400e9]), [[ids.fast, "incident <7>", 30]]);
  await page.screenshot({ path: `${story.shots}/pin.png` });
  await page.getByRole("link", { name: "All pins" }).click();
  const row = page.getByRole("table", { name: "Pins" }).getByRole("row", { name: /incident <7>/ });
  await row.getByRole("link", { name: ids.fast }).waitFor();
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/pins.png` });
  await row.getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  assert.deepEqual(await own(), []);
  await done(page);
  const nothing = await open("/?view=search", { base: story.empty });
  await nothing.getByRole("link", { name: "Pins", exact: true }).click();
  await nothing.getByText("No trace is pinned", { exact: false }).waitFor();
  await done(nothing);
});

test("what lost its samples by outcome says thinned, with the rule, and never that there were none", async () => {
  const state = async () => (await (await fetch(`${story.old}/api/v1/keep/${ids.thinned}`)).json()).keep.state;
  for (let i = 0; i < 1200 && (await state()) !== "thinned"; i++) await new Promise((go) => setTimeout(go, 100));
  const page = await open(trace(ids.thinned, `&span=${ids.thinnedSpan}`), { base: story.old });
  await page.locator(".trace-title").getByText(/^thinned · rule set 1, hour /).waitFor();
  await page.locator(".side").getByText("samples thinned").waitFor();
  await page.getByRole("button", { name: "CPU", exact: true }).or(page.locator(".span-profile")).first().waitFor();
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/thinned.png` });
  await page.goto(`${story.old}${trace(ids.thinned, `&span=${ids.thinnedSpan}&mode=cpu`)}`);
  await page.getByText("The samples of this span were removed.").waitFor();
  await page.locator(".span-profile").getByText(/^thinned · rule set 1/).waitFor();
  assert.equal(await page.getByText("no samples").count(), 0);
  await page.getByRole("button", { name: "Flame", exact: true }).click();
  await page.locator(".trace-left").getByText(/^thinned · rule set 1/).waitFor();
  await done(page, "thinned-flame");
});

test("an alert is listed with what it is about, and silenced by a button", async () => {
  const page = await open("/?view=alerts");
  const row = page.getByRole("table", { name: "Alerts", exact: true }).getByRole("row", { name: /any-span/ });
  await row.filter({ hasText: "firing" }).filter({ hasText: "team=<b>" }).waitFor();
  await page.getByRole("table", { name: "History of alerts" }).getByRole("row", { name: /still firing/ }).first().waitFor();
  await page.getByRole("table", { name: "Rules", exact: true }).getByRole("row", { name: /count_over_time\(\) above 0/ }).waitFor();
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/alerts.png` });
  await row.getByRole("button", { name: "Silence: any-span" }).click();
  await page.getByText("Silenced any-span for 2h", { exact: false }).waitFor();
  await row.getByText("firing, silenced").waitFor();
  assert.equal((await (await fetch(`${story.url}/api/v1/silences`)).json())[0].status.state, "active");
  await done(page);
});

test("deploys are those that the server lists: seen, told, or both", async () => {
  const page = await open("/?view=deploys");
  const table = page.getByRole("table", { name: "Deploys" });
  const told = table.getByRole("row", { name: /told/ }).filter({ hasText: "v2" });
  await told.filter({ hasText: "prod" }).filter({ hasText: "v1" }).waitFor();
  assert.equal(await told.getByRole("link", { name: "Details" }).getAttribute("href"), "https://ci.example/7");
  await told.getByText(/may be chance|slower|faster|too little data/).waitFor();
  const nowhere = table.getByRole("row", { name: /nowhere/ });
  await nowhere.getByText("told, but not seen in spans or profiles yet").waitFor();
  assert.equal(await nowhere.getByRole("link", { name: /Before and after|Details/ }).count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await isAccessible(page);
  await told.getByRole("link", { name: "Before and after" }).click();
  await page.waitForURL(/view=compare.*version=v2/);
  await done(page);
});

test("what is scraped is listed with what went wrong", async () => {
  const page = await open("/?view=collectors");
  const row = page.getByRole("table", { name: "Scraped targets" }).getByRole("row", { name: /127\.0\.0\.1:1\/debug\/pprof\/profile\?seconds=1/ });
  await row.filter({ hasText: "scraped" }).filter({ hasText: "down" }).filter({ hasText: "onnect" }).waitFor();
  await isAccessible(page);
  await done(page);
});

test("a token that may only read is told which scope the buttons of collectors need", async () => {
  const page = await open("/?view=collectors", { base: story.locked });
  await page.getByLabel("Token").fill(story.token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByText("No collector has asked", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Off: all collectors" }).click();
  await page.getByRole("alert").filter({ hasText: "scope control" }).waitFor();
  await done(page);
});

test("a pasted link opens the same view, back and forward work", async () => {
  const page = await open(trace(ids.slow));
  await page.locator(`[data-span="${ids.slowSpan}"] .bar-body`).click();
  await canvas(page).waitFor();
  await page.getByRole("tab", { name: "Details" }).click();
  await page.getByText("order.items").waitFor();
  await page.goBack();
  await canvas(page).waitFor();
  await page.goForward();
  await page.getByText("order.items").waitFor();
  const copy = await open(new URL(page.url()).pathname + new URL(page.url()).search);
  await copy.getByText("order.items").waitFor();
  await copy.getByRole("link", { name: "filter by this" }).first().click();
  await copy.waitForURL(/view=search/);
  await done(copy);
  await done(page);
});

test("hostile names are text everywhere", async () => {
  for (const path of ["/", "/?view=coverage", "/?view=profiles", "/?view=search", trace(ids.hostile), trace(ids.hostile, `&span=${ids.hostileSpan}&pane=profile&fv=both`), trace(ids.hostile, `&span=${ids.hostileSpan}&pane=details`)]) {
    const page = await open(path);
    await page.waitForFunction(() => document.body.innerText.includes("<script>window.hacked"), null, { timeout: 10000 }).catch(() => assert.ok(path.includes("search"), `${path} shows the name`));
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
    assert.ok(!(await page.evaluate(() => document.body.innerText)).includes("\u202e"), `${path} shows no reordering character`);
    await done(page, path === "/" ? "hostile" : undefined);
  }
});

test("ten thousand spans have few rows on screen and scroll", async () => {
  const page = await open(trace(ids.big));
  await page.locator("[role=treegrid]").waitFor();
  const first = await page.evaluate(() => window.firstShown - performance.getEntriesByType("resource").find((r) => r.name.includes("/api/v1/trace/")).responseEnd);
  console.log(`# first rows of 10,000 spans on screen ${first.toFixed(0)} ms after the answer`);
  assert.ok((await page.locator(".span-row").count()) < 80);
  const frames = await page.evaluate(async () => {
    const box = document.querySelector(".waterfall-scroll");
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 60; i++) {
      box.scrollTop += 400;
      await new Promise((r) => requestAnimationFrame(r));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    times.sort((a, b) => a - b);
    return times[30];
  });
  console.log(`# a frame while scrolling 10,000 spans: ${frames.toFixed(1)} ms median`);
  await page.getByText("step 8", { exact: false }).first().waitFor();
  await page.getByLabel("Find spans").fill("step 9999");
  await page.getByText("1 found").waitFor();
  await page.locator(".span-row.match").waitFor();
  await page.getByRole("button", { name: "Fold by service" }).waitFor();
  await done(page, "big");
});

test("a graph of 100,000 frames is drawn, searched and zoomed", async () => {
  const page = await open("/?view=profiles&service=large");
  await canvas(page).waitFor();
  await page.waitForFunction(() => Number(document.querySelector(".flame-canvas")?.dataset.bars) > 300);
  const ms = await page.evaluate(async () => {
    const c = document.querySelector(".flame-canvas");
    const times = [];
    c.focus();
    const key = (k) => c.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
    for (let i = 0; i < 40; i++) {
      for (const k of i % 10 === 9 ? ["Escape"] : ["ArrowUp", "ArrowUp", "Enter"]) key(k);
      await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
      times.push(Number(c.dataset.ms));
    }
    times.sort((a, b) => a - b);
    return { median: times[20], most: times[39] };
  });
  console.log(`# drawing 100,000 frames while zooming: ${ms.median} ms median, ${ms.most} ms at most`);
  await page.getByLabel("Search functions").fill("^pkg7");
  await page.getByText(/through them/).waitFor();
  await done(page, "large");
});

test("graphs look as they did", async () => {
  const span = `&span=${ids.slowSpan}`;
  for (const [name, path, rows, dark] of [
    ["span", trace(ids.slow, `${span}&pane=profile&mode=cpu`), 7, false],
    ["span-dark", trace(ids.slow, `${span}&pane=profile&mode=cpu`), 7, true],
    ["difference", trace(ids.slow, `${span}&pane=compare`), 7, false],
    ["trace", trace(ids.slow, "&tab=flame"), 10, false],
  ]) {
    const page = await open(path, { dark });
    await canvas(page).waitFor();
    await page.waitForTimeout(400);
    await looksLike(page, name, rows);
    await done(page);
  }
});

test("both themes are readable", async () => {
  for (const dark of [false, true]) {
    const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile&fv=both`), { dark });
    await canvas(page).waitFor();
    await isAccessible(page);
    await done(page, dark ? "dark" : "light");
  }
  const page = await open("/");
  await page.getByRole("button", { name: /Theme: auto/ }).click();
  await page.getByRole("button", { name: /Theme: light/ }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await done(page);
});

test("a small and a large screen hold the trace", async () => {
  for (const viewport of [{ width: 1280, height: 720 }, { width: 3840, height: 2160 }]) {
    const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=profile`), { viewport });
    await canvas(page).waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
    await done(page, `trace-${viewport.width}`);
  }
});

test("an empty store says how to send data, with this address", async () => {
  const page = await open("/", { base: story.empty });
  await page.getByRole("heading", { name: "Nothing here yet" }).waitFor();
  await page.getByRole("tab", { name: "Python" }).click();
  assert.ok((await page.locator("pre").innerText()).includes(story.empty));
  await isAccessible(page);
  await done(page, "first-use");
});

test("a server that asks for a token gets one, and only then is there data", async () => {
  const page = await open("/", { base: story.locked });
  await page.getByRole("heading", { name: "This server asks who you are" }).waitFor();
  await page.getByLabel("Token").fill(story.token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("heading", { name: "Nothing here yet" }).waitFor();
  await done(page, "token");
});

test("busy, broken and silent servers are said as such, and can be asked again", async () => {
  const page = await open("/");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  let mode = "busy";
  await page.route("**/api/v1/services*", (route) => {
    if (mode === "busy") return route.fulfill({ status: 429, headers: { "Retry-After": "3" }, body: "job queue full" });
    if (mode === "starting") return route.fulfill({ status: 503, body: "the log is being replayed" });
    if (mode === "gone") return route.abort();
    return route.continue();
  });
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByText("job queue full", { exact: false }).first().waitFor();
  await page.getByText("in 3 s", { exact: false }).first().waitFor();
  assert.ok(await page.getByRole("row", { name: /order-service/ }).isVisible(), "what was there stays");
  mode = "starting";
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText("the log is being replayed", { exact: false }).first().waitFor();
  mode = "gone";
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByText("The server does not answer", { exact: false }).first().waitFor();
  mode = "well";
  await page.getByRole("button", { name: "Try again" }).first().click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await done(page);
});

test("a server that stops and comes back is said to, and asked again", async () => {
  const page = await open("/", { base: story.empty });
  await page.getByRole("heading", { name: "Nothing here yet" }).waitFor();
  process.kill(story.emptyPid, "SIGSTOP");
  try {
    const slow = page.getByText("Still working…").first();
    await page.getByRole("button", { name: "Ask again" }).click();
    await slow.waitFor();
    assert.ok(await page.getByRole("progressbar").first().isVisible());
  } finally {
    process.kill(story.emptyPid, "SIGCONT");
  }
  await page.getByText("Still working…").first().waitFor({ state: "detached" });
  process.kill(story.emptyPid, "SIGKILL");
  await page.waitForTimeout(200);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByText("The server does not answer", { exact: false }).first().waitFor();
  await page.getByRole("link", { name: "Traces", exact: true }).click();
  await page.getByText("The server does not answer", { exact: false }).first().waitFor();
  page.faults = page.faults.filter((f) => !f.includes("ERR_"));
  await done(page, "stopped");
});

test("every view says what failed and keeps what was there", async () => {
  const views = { service: "&service=order-service", search: "", profiles: "&service=order-service", compare: "&q={}", findings: "", coverage: "", alerts: "", collectors: "", pins: "", spans: "&function=main", trace: `&id=${ids.slow}` };
  for (const [view, more] of Object.entries(views)) {
    const page = await open(`/?view=${view}${more}`, { fails: { status: 429, headers: { "Retry-After": "7" }, body: "too many queries at once" } });
    await page.getByRole("alert").filter({ hasText: "too many queries at once" }).first().waitFor();
    await page.getByText("in 7 s", { exact: false }).first().waitFor();
    await page.unroute("**/*");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.waitForFunction(() => !document.querySelector("[role=alert]") || document.querySelector("canvas, table, .card"));
    await done(page);
  }
});

test("a part that fails is said to fail, and the rest is there", async () => {
  const page = await open("/");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  await page.route("**/api/v1/findings?*", (r) => r.fulfill({ status: 504, body: "the query took too long" }));
  await page.route("**/api/dependencies?*", (r) => r.fulfill({ status: 503, body: "starting" }));
  await page.getByRole("link", { name: "Coverage" }).click();
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByRole("row", { name: /order-service.*failed: the query took too long/ }).waitFor();
  await page.getByText("The map failed: starting").waitFor();
  await page.getByRole("region", { name: "Entry requests" }).getByText(/\/(min|s)/).first().waitFor();
  assert.equal(await page.getByText("nothing stands out").count(), 0);
  await page.unroute("**/*");
  await done(page, "failed-part");
});

test("five hundred services have few rows on screen, a filter, and findings by one question", async () => {
  const page = await open("/?view=coverage");
  const figures = { errors: 0, ratePerSecond: 1, errorShare: 0, meanNs: 1e6, p50Ns: 1e6, p95Ns: 2e6, p99Ns: 3e6 };
  const many = Array.from({ length: 500 }, (_, i) => ({ service: `s${String(i).padStart(3, "0")}`, operations: [], spans: 9, ...figures, requests: { ...figures, count: 9 } }));
  let asked = 0;
  await page.route("**/api/v1/services?*", (r) => r.fulfill({ json: { services: many } }));
  await page.route("**/api/v1/findings?*", (r) => (asked++, r.fulfill({ json: { services: [], left: 500 } })));
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByRole("table", { name: "Services" }).waitFor();
  assert.ok((await page.locator("table[aria-label=Services] tbody tr").count()) < 60);
  await page.getByLabel("Filter services").fill("s49");
  await page.getByText("10 of 500").waitFor();
  for (let i = 0; i < 600 && asked === 0; i++) await page.waitForTimeout(50); // three questions at a time: it may wait
  assert.equal(asked, 1);
  await page.getByRole("link", { name: "s499" }).waitFor();
  await page.unroute("**/*");
  await done(page, "services-500");
});

test("what nobody looks at any more is not asked any further", async () => {
  const page = await open("/");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  const given = [];
  page.on("requestfailed", (r) => given.push(`${new URL(r.url()).pathname} ${r.failure()?.errorText}`));
  await page.route("**/api/search?*", () => new Promise(() => undefined));
  const asked = page.waitForRequest(/\/api\/search\?.*spss=/);
  await page.getByRole("link", { name: "Traces", exact: true }).click();
  await asked;
  await page.getByText("Still working…").first().waitFor();
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  assert.ok(given.includes("/api/search net::ERR_ABORTED"), given.join("; "));
  await done(page);
});

test("a drag on a chart chooses the time, and the page asks again by itself", async () => {
  const page = await open("/?refresh=5s");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  await page.waitForRequest((r) => r.url().includes("/api/v1/services"));
  await page.getByRole("button", { name: /^Time range/ }).click();
  await page.getByLabel("Refresh by itself").selectOption("");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "order-service" }).first().click();
  await page.locator(".u-over").first().waitFor();
  await page.locator(".u-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator(".u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/from=\d+/);
  assert.ok(Number(params(page).get("until")) - Number(params(page).get("from")) < 3600e3);
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes("from="));
  await done(page);
});

test("a span leads to its logs by the user's template", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}&pane=details`));
  await page.getByRole("button", { name: "Link to your logs…" }).click();
  await page.getByLabel(/^Template with/).fill("http://logs.example/?q={traceId}&s={spanId}");
  const link = page.getByRole("link", { name: "Logs of this span" });
  assert.equal(await link.getAttribute("href"), `http://logs.example/?q=${ids.slow}&s=${ids.slowSpan}`);
  await page.getByLabel(/^Template with/).fill("javascript:alert(1)");
  await link.waitFor({ state: "detached" });
  await done(page);
});

test("a range is typed, and a wrong one is refused", async () => {
  const page = await open("/");
  await page.getByRole("button", { name: /^Time range: Last 1 h/ }).click();
  await page.getByLabel("From", { exact: true }).fill("yesterday");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Write now-90m", { exact: false }).waitFor();
  await page.getByLabel("From", { exact: true }).fill("now-90m");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/from=now-90m/);
  await page.getByRole("button", { name: /^Time range: Last 90 min/ }).click();
  await page.getByRole("button", { name: "24h", exact: true }).click();
  await page.waitForURL(/from=now-24h/);
  await page.getByRole("button", { name: "Zoom out" }).click();
  await page.waitForURL(/from=now-48h/);
  await page.getByRole("button", { name: /^Time range/ }).click();
  await page.getByLabel("From, by the calendar").fill("2026-01-31T14:05");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/from=\d{13}/);
  await done(page);
});

test("a view is shared as a link with its time, a command and Markdown", async () => {
  const page = await open(trace(ids.slow, `&span=${ids.slowSpan}`));
  await page.locator(".side [data-answer]").filter({ hasText: /^880 ms/ }).waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const copied = async (name) => {
    await page.getByRole("button", { name }).click();
    await page.getByText(/ copied$/).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await page.getByRole("button", { name: "Share" }).click();
  assert.match(await copied(/^Copy the link/), /from=\d{13}.*until=\d{13}/);
  assert.match(await copied(/^Copy the command/), new RegExp(`^spanflame \\w+ ${ids.slowSpan} --trace ${ids.slow} --server http`));
  const text = await copied(/^Copy as Markdown for/);
  assert.match(text, /^\*\*\[GET \/checkout 900 ms\]\(http/);
  assert.match(text, /\| running \| 1\d\d ms/);
  await done(page);
});

test("a comparison begins with forms that have what is there", async () => {
  const page = await open("/?view=compare");
  const form = page.getByRole("form", { name: "Slow against fast" });
  await page.waitForFunction(() => /resource.service.name/.test(document.querySelector(".ask-form input")?.value));
  assert.equal(await page.locator(".ask-form").count(), 6);
  await isAccessible(page);
  await page.screenshot({ path: `${story.shots}/compare-start.png` });
  await form.getByLabel("Spans").fill('{ name = "order.calculate_totals" }');
  await form.getByRole("combobox").selectOption("p90");
  await form.getByRole("button", { name: "Compare" }).click();
  await page.locator("[data-answer]").filter({ hasText: /lookupRate/ }).waitFor();
  await page.getByRole("img", { name: /^From .* to / }).waitFor();
  assert.equal(params(page).get("split"), "p90");
  await done(page);
});

test("the map has every call, and a list of them", async () => {
  const page = await open("/?view=map");
  await page.getByRole("group", { name: /^Service map/ }).getByRole("link", { name: /^payments/ }).waitFor();
  await page.getByRole("table", { name: "Calls between services" }).getByRole("row", { name: /gateway.*order-service/ }).waitFor();
  await isAccessible(page);
  await page.getByRole("group", { name: /^Service map/ }).getByRole("link", { name: /^payments/ }).click();
  await page.waitForURL(/service=payments/);
  assert.ok(await page.evaluate(() => document.activeElement.id === "page-title"), "the heading has the focus");
  await page.goBack();
  await page.waitForURL(/view=map/);
  await done(page, "map");
});

test("three widths and two themes hold every view without scrolling sideways", async () => {
  const views = ["/", "/?view=search", trace(ids.slow, `&span=${ids.slowSpan}`), trace(ids.slow, "&pane=none"), "/?view=service&service=order-service", "/?view=findings", "/?view=coverage"];
  for (const [width, height, dark] of [[390, 844, false], [768, 1024, true], [1920, 1080, true]]) {
    for (const [i, path] of views.entries()) {
      const page = await open(path, { viewport: { width, height }, dark });
      await page.locator("table, [role=treegrid], .why, .answers").locator("visible=true").first().waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} at ${width}`);
      if (i === 2) await page.locator(".side [data-answer]").waitFor();
      if (width === 390 && i < 3) await isAccessible(page);
      await done(page, `width-${width}-${i}`);
    }
  }
});

await run();
