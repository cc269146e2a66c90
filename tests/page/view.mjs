// view.mjs STORY: what a person does with the page, in a real browser against a real server; the views: services, search, profiles, findings, comparison and what is kept. Run by clicks.mjs.
import { strict as assert } from "node:assert";
import { canvas, done, isAccessible, longTest, open, params, shoot, story, test, trace } from "./tab.mjs";

const { ids } = story;

test("the overview lists services with rate, errors and latency", async () => {
  const page = await open("/");
  const row = page.getByRole("row", { name: /order-service/ });
  await row.waitFor();
  assert.match(await row.innerText(), /ms/);
  await page.waitForFunction(() => /cores/.test(document.body.textContent) && /420\sMiB/.test(document.body.textContent));
  await row.getByRole("link", { name: /takes|calls|regex/ }).first().waitFor();
  // Figures of requests, not of spans: a dozen spans of a service are one request of it.
  const kpis = page.getByRole("region", { name: "Entry requests" });
  await kpis.getByText("/min").first().waitFor();
  await page.getByRole("article").filter({ hasText: /regex/ }).first().getByRole("link", { name: "Why slow?" }).waitFor();
  await page.getByRole("group", { name: /^Service map/ }).getByRole("link", { name: /^order-service/ }).waitFor();
  await page.getByRole("table", { name: "Slowest requests" }).getByRole("link", { name: "Why slow?" }).first().waitFor();
  await page.getByRole("table", { name: "Services" }).getByRole("img", { name: /^Time per request: / }).first().waitFor();
  await isAccessible(page);
  await page.getByLabel("Filter services").fill("pay");
  await page.getByText(/^1 of \d+$/).waitFor();
  await page.getByRole("button", { name: "Errors" }).click();
  await page.waitForURL(/map=errors/);
  await done(page, "overview");
});

longTest("a latency chart works without a mouse", async () => {
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
  await page.waitForLoadState("networkidle"); // parts that load later move the heatmap
  const box = await page.locator(".heatmap canvas").boundingBox();
  await page.mouse.move(box.x + 70, box.y + 24);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("link", { name: "Compare these spans with the rest" }).click();
  await page.locator("[data-answer]").filter({ hasText: /Chosen spans take .* mostly lookupRate/ }).waitFor();
  await page.getByRole("table", { name: "Parts of the duration" }).getByRole("row", { name: /^running/ }).waitFor();
  await page.getByRole("table", { name: "Functions that differ" }).waitFor();
  await canvas(page).waitFor();
  await isAccessible(page);
  await done(page, "compare");
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
  await page.getByRole("link", { name: "GET /checkout" }).first().click();
  await canvas(page).waitFor();
  await done(page);
});

longTest("a search is narrowed by what its spans are, has one of each cause, and is saved", async () => {
  const page = await open(`/?view=search&q=${encodeURIComponent("{ duration > 100ms }")}`);
  // What the spans are, with counts: a click narrows the query.
  await page.getByRole("group", { name: "Narrow by" }).getByRole("button", { name: /order\.calculate_totals/ }).click();
  await page.waitForFunction(() => /calculate_totals/.test(location.search));
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Traces] tbody tr").length === 50);
  // Where the time of the slowest went, and one of each cause.
  await page.getByRole("button", { name: "One of each cause" }).click();
  await page.getByText(/; \d+ causes of the 20 slowest/).waitFor();
  const causes = await page.locator("table[aria-label=Traces] .cause").allInnerTexts();
  assert.ok(causes.length > 0 && causes.length < 20 && causes.every((c) => /\d m?s /.test(c)), causes.join("; "));
  assert.equal(await page.getByRole("table", { name: "Traces" }).getByRole("link", { name: /^Why slow\? / }).count(), causes.length);
  await page.getByRole("button", { name: "Newest", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Traces] tbody tr").length === 50);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Saved", exact: true }).waitFor();
  await page.getByRole("button", { name: /^Queries/ }).click();
  assert.ok((await page.getByRole("dialog", { name: "Queries" }).getByRole("button").count()) >= 5, "saved, recent, examples");
  await page.keyboard.press("Escape");
  await done(page, "search");
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
  await page.locator(".plot-over").waitFor();
  await page.getByText("order-service").first().waitFor();
  assert.equal(await page.getByRole("table", { name: "Traces" }).count(), 0);
  await shoot(page, "search-chart");
  const editor = page.getByRole("combobox", { name: "TraceQL query" });
  await editor.fill("{ status = = error }");
  await page.getByText("parse error at line 1, col 12", { exact: false }).waitFor();
  await page.locator(".plot-over").waitFor();
  await done(page);
});

/** A search chart of `series`, name to values per minute of the hour that ends `untilMs`; null: there is no sample. */
async function chartOf(series, untilMs, width = 1280) {
  const page = await open("/?view=coverage", { viewport: { width, height: 720 } });
  const samples = (values) => values.flatMap((value, i) => (value === null ? [] : [{ timestampMs: String(untilMs - 3600e3 + i * 60e3), value }]));
  const json = { series: Object.entries(series).map(([name, values]) => ({ labels: [{ key: "name", value: { stringValue: name } }], samples: samples(values) })) };
  await page.route("**/api/metrics/query_range?*", (r) => r.fulfill({ json }));
  await page.goto(`${story.url}/?view=search&q=${encodeURIComponent("{ } | count_over_time() by (name)")}&from=${String(untilMs - 3600e3)}&until=${String(untilMs)}`);
  await page.locator(".plot-over").waitFor();
  return page;
}

test("a line has no stroke over a gap, its values are read at the pointer, and a drag chooses the time", async () => {
  const untilMs = Math.floor(Date.now() / 60e3) * 60e3;
  const minutes = Array.from({ length: 61 }, (_, i) => i);
  const page = await chartOf({ gateway: minutes.map((i) => (i > 20 && i < 40 ? null : 100 + i)), payments: minutes.map(() => 7) }, untilMs);
  const box = await page.locator(".plot-over").boundingBox();
  const at = (minute) => box.x + (box.width * minute) / 60;
  // The upper line is in the upper half; lines of the grid are grey.
  const isDrawn = (minute) =>
    page.evaluate(
      ([x, y, high]) => {
        const c = document.querySelector(".chart-box > canvas");
        const [b, ratio] = [c.getBoundingClientRect(), c.width / c.clientWidth];
        const { data } = c.getContext("2d").getImageData(Math.round((x - b.left) * ratio), (y - b.top) * ratio, 1, high * ratio);
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && Math.max(...data.slice(i, i + 3)) - Math.min(...data.slice(i, i + 3)) > 40) return true;
        return false;
      },
      [at(minute), box.y, box.height / 2],
    );
  await page.waitForFunction(() => document.querySelector(".chart-box > canvas").width > 300);
  const drawn = [];
  for (const minute of [5, 19.5, 21, 30, 39, 40.5, 55]) drawn.push(await isDrawn(minute));
  assert.deepEqual(drawn, [true, true, false, false, false, true, true]);
  const read = page.locator(".plot-read");
  await page.mouse.move(at(10.2), box.y + 40);
  await read.filter({ hasText: /gateway 110.*payments 7/ }).waitFor();
  assert.equal(await page.locator(".plot-dot").count(), 2);
  await page.mouse.move(at(30), box.y + 40);
  await read.filter({ hasText: /payments 7.*gateway no data/ }).waitFor();
  assert.equal(await page.locator(".plot-dot").count(), 1);
  await page.mouse.move(at(15), box.y + 40);
  await page.mouse.down();
  await page.mouse.move(at(45), box.y + 40, { steps: 4 });
  const chosen = await page.locator(".plot-range").boundingBox();
  assert.ok(Math.abs(chosen.width - box.width / 2) <= 2, `the range is ${String(chosen.width)} of ${String(box.width)} pixels wide`);
  await page.mouse.up();
  await page.waitForURL((u) => u.searchParams.get("until") !== String(untilMs));
  const off = ["from", "until"].map((name, i) => Math.abs(Number(params(page).get(name)) - (untilMs - [45, 15][i] * 60e3)));
  assert.ok(Math.max(...off) <= (2 * 3600e3) / box.width, `the chosen time is off by ${off.join(" and ")} ms`);
  await done(page);
});

longTest("the names of many lines stay in the chart, and long ones end with an ellipsis", async () => {
  for (const width of [1280, 390]) {
    const long = `GET /${"very-long-".repeat(12)}`;
    const names = [long, ...Array.from({ length: 11 }, (_, i) => `operation number ${String(i)}`)];
    const page = await chartOf(Object.fromEntries(names.map((n) => [n, [1, 2, 3]])), Date.now(), width);
    const found = await page.evaluate(() => {
      const chart = document.querySelector(".chart").getBoundingClientRect();
      return [...document.querySelectorAll(".line-name")].map((e) => {
        const [outer, name] = [e.getBoundingClientRect(), e.querySelector(".name")];
        const inner = name?.getBoundingClientRect();
        return { isInside: outer.left >= chart.left && outer.right <= chart.right && inner !== undefined && inner.right <= outer.right + 0.5, isCut: name !== null && name.scrollWidth > name.clientWidth, overflow: name && getComputedStyle(name).textOverflow, title: name?.title };
      });
    });
    assert.equal(found.length, names.length);
    for (const f of found) assert.deepEqual(f, { isInside: true, isCut: f.title === long, overflow: "ellipsis", title: f.title });
    assert.equal(found.filter((f) => f.isCut).length, 1);
    await done(page, `legend-${String(width)}`);
  }
});

test("a mistake in a query is underlined where it is", async () => {
  const page = await open(`/?view=search&q=${encodeURIComponent("{ status = = error }")}`);
  await page.getByRole("alert").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".editor-marks mark"));
  assert.equal(await page.getByRole("table", { name: "Traces" }).count(), 0, "nothing of another query stays");
  assert.equal(await page.locator(".editor-marks mark").innerText(), "=");
  await done(page, "fault");
});

longTest("form fields write the query", async () => {
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
  await page.locator(".plot-over").waitFor();
  await page.getByRole("button", { name: /Compare with a time before/ }).click();
  await page.waitForTimeout(300);
  const box = await page.locator(".plot-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.locator(".plot-read").filter({ hasText: /\d/ }).waitFor();
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

longTest("labels of profiles are chips, completed from the store", async () => {
  const page = await open("/?view=profiles&service=payments");
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "Add: Labels" }).press("Enter");
  const form = page.getByRole("dialog", { name: "Labels" });
  await form.getByText(/labels: .*env/).waitFor();
  await page.keyboard.type("env");
  assert.ok((await form.locator("#labels-names option").evaluateAll((all) => all.map((o) => o.value))).includes("env"));
  await form.locator('#labels-values option[value="prod"]').waitFor({ state: "attached" });
  await form.getByLabel("Value").fill("prod");
  await isAccessible(page);
  await shoot(page, "labels");
  await page.keyboard.press("Enter");
  await page.waitForURL(/labels=env%3D%22prod%22/);
  await page.getByText("env = prod").waitFor();
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "Add: Labels" }).click();
  await form.getByLabel("Label", { exact: true }).fill("env");
  await form.getByLabel("Operator").selectOption("!=");
  await form.getByLabel("Value").fill("prod");
  await form.getByRole("button", { name: "Add" }).click();
  await page.getByText("No samples here.").or(page.getByText("No profiles of this type")).first().waitFor();
  await page.getByRole("button", { name: "Remove env != prod" }).click();
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "Remove env = prod" }).click();
  await page.waitForFunction(() => !location.search.includes("labels="));
  // What somebody wrote by hand and is not a list of matchers stays a text.
  await page.goto(`${story.url}/?view=profiles&service=payments&labels=env`);
  assert.equal(await page.getByLabel("Labels", { exact: true }).inputValue(), "env");
  await done(page);
});

test("findings say what to look at", async () => {
  const page = await open("/?view=findings&service=order-service");
  await page.getByText(/regex\.\w+ (alone )?takes/).waitFor();
  await isAccessible(page);
  const cards = page.getByRole("article");
  const before = await cards.count();
  await page.getByRole("button", { name: /^Dismiss: / }).first().click();
  await page.getByRole("dialog", { name: "Why dismiss it?" }).getByRole("button", { name: "Known, being fixed" }).click();
  await page.getByText("1 dismissed in this browser").waitFor();
  await page.getByRole("region", { name: "Dismissed" }).getByText("Known, being fixed").waitFor();
  assert.equal(await cards.count(), before - 1);
  await page.getByRole("button", { name: /^Undo: / }).click();
  await cards.nth(before - 1).waitFor();
  await shoot(page, "findings");
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
  await shoot(page, "collectors");
  await page.getByRole("button", { name: "Off: shop", exact: true }).click();
  await page.getByText("Profiling is off for shop: 1 known collector follows within seconds.").waitFor();
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

longTest("a trace is pinned with an end and a note, listed, and let go", async () => {
  const page = await open(trace(ids.fast));
  await page.getByRole("button", { name: "Pin", exact: true }).click();
  await page.getByLabel("For").selectOption("30d");
  await page.getByLabel("Note").fill("incident <7>");
  await page.getByRole("button", { name: "Pin this trace" }).click();
  await page.getByText("Pinned until", { exact: false }).waitFor();
  await isAccessible(page);
  const own = async () => (await (await fetch(`${story.url}/api/v1/pins`)).json()).pins.filter((p) => !p.note.startsWith("alert: "));
  assert.deepEqual((await own()).map((p) => [p.traceId, p.note, (p.untilUnixNano - p.createdUnixNano) / 86400e9]), [[ids.fast, "incident <7>", 30]]);
  await shoot(page, "pin");
  await page.getByRole("link", { name: "All pins" }).click();
  const row = page.getByRole("table", { name: "Pins" }).getByRole("row", { name: /incident <7>/ });
  await row.getByRole("link", { name: ids.fast }).waitFor();
  await isAccessible(page);
  await shoot(page, "pins");
  await row.getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  assert.deepEqual(await own(), []);
  await done(page);
  const nothing = await open("/?view=search", { base: story.empty });
  await nothing.getByRole("link", { name: "Pins", exact: true }).click();
  await nothing.getByText("No trace is pinned", { exact: false }).waitFor();
  await done(nothing);
});

test("an alert is a card with its reason, its values and the limit, and is silenced from a menu", async () => {
  const page = await open("/?view=alerts");
  const card = page.getByRole("list", { name: "Firing alerts" }).getByRole("listitem").filter({ hasText: "any-span" });
  await card.filter({ hasText: "firing" }).filter({ hasText: "team=<b>" }).waitFor();
  await page.getByRole("table", { name: "History of alerts" }).getByRole("row", { name: /still firing/ }).first().waitFor();
  await page.locator("details.rules > summary").click();
  const rule = page.getByRole("table", { name: "Rules", exact: true }).getByRole("row", { name: /count_over_time\(\) above 0/ });
  await rule.getByRole("img", { name: /^Fired \d+ times in the last 7 days/ }).waitFor();
  await card.getByRole("img", { name: /^The last \d+ windows of .*, limit 0$/ }).waitFor();
  await rule.getByRole("button", { name: "Would have fired: any-span" }).click();
  await rule.getByText(/^\d+ times?/).waitFor();
  await isAccessible(page);
  await shoot(page, "alerts");
  assert.match(await card.getByRole("link", { name: "Why: any-span" }).getAttribute("href"), /view=/);
  await card.getByRole("button", { name: "Silence: any-span" }).click();
  await page.getByRole("dialog", { name: "Silence for" }).getByRole("button", { name: "For 2h" }).click();
  await page.getByText("Silenced any-span for 2h", { exact: false }).waitFor();
  await card.getByText("firing, silenced").waitFor();
  assert.equal((await (await fetch(`${story.url}/api/v1/silences`)).json())[0].status.state, "active");
  await done(page);
});

/** A service whose second version began three minutes ago. */
async function secondDeploy() {
  const resourceSpans = [["a", 6], ["b", 3]].map(([version, minutes], i) => ({
    resource: { attributes: [["service.name", "twice"], ["service.version", version]].map(([key, stringValue]) => ({ key, value: { stringValue } })) },
    scopeSpans: [{ spans: [{ traceId: `ad${"0".repeat(29)}${String(i + 1)}`, spanId: `bd${"0".repeat(13)}${String(i + 1)}`, name: "GET /twice", kind: 2, startTimeUnixNano: String((Date.now() - minutes * 60e3) * 1e6), endTimeUnixNano: String((Date.now() - minutes * 60e3 + 20) * 1e6) }] }],
  }));
  const answer = await fetch(`${story.url}/v1/traces`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ resourceSpans }) });
  assert.equal(answer.status, 200);
}

test("deploys are those that the server lists: seen, told, or both", async () => {
  await secondDeploy();
  const page = await open("/?view=deploys");
  const table = page.getByRole("table", { name: "Deploys" });
  const told = table.getByRole("row", { name: /told/ }).filter({ hasText: "v2" });
  await told.filter({ hasText: "prod" }).filter({ hasText: "v1" }).waitFor();
  assert.equal(await told.getByRole("link", { name: "Details" }).getAttribute("href"), "https://ci.example/7");
  assert.ok(await told.getByRole("link", { name: "Details" }).evaluate((link) => link.getBoundingClientRect().right <= link.closest("td").getBoundingClientRect().right), "a long comment leaves place for the link");
  await told.locator(".verdict > .chip").filter({ hasText: /may be chance|slower|faster|too little data/ }).waitFor();
  await told.getByText("0 % of 58, then 31 % of 58").waitFor();
  await told.getByText("+31 points", { exact: true }).waitFor();
  await told.getByText("+19 to +44 points").waitFor();
  assert.ok((await told.locator(".ci.more-whisker").count()) >= 1, "an interval that is not chance");
  // Each figure is a column that sorts; rows without a value stay below.
  await table.getByRole("row", { name: /twice/ }).getByText("too few spans").first().waitFor();
  const names = async () => (await table.locator("tbody tr").allInnerTexts()).map((t) => /told|twice|nowhere/.exec(t)?.[0]);
  for (const column of ["Duration", "CPU", "Errors"]) await table.getByRole("columnheader", { name: column }).getByRole("button").waitFor();
  const order = table.getByRole("columnheader", { name: "Errors" });
  await order.getByRole("button").click();
  await page.waitForURL(/sort=errors-down/);
  assert.deepEqual((await names()).slice(0, 2), ["told", "twice"]);
  await order.getByRole("button").click();
  await page.waitForURL(/sort=errors-up/);
  assert.deepEqual((await names()).slice(0, 2), ["twice", "told"]);
  await table.getByRole("columnheader", { name: "Duration" }).getByRole("button").click();
  await page.waitForURL(/sort=duration-down/);
  assert.equal((await names())[0], "told", "the only one with enough spans");
  assert.equal(await table.getByRole("row", { name: /nowhere/ }).getByRole("checkbox").count(), 0);
  await told.getByRole("checkbox").check();
  await page.getByText("Select one more to compare the two.").waitFor();
  await table.getByRole("row", { name: /twice/ }).getByRole("checkbox").check();
  const both = new URLSearchParams((await page.getByRole("link", { name: "Compare these two" }).getAttribute("href")).replace(/^.*\?/, ""));
  assert.deepEqual([both.get("left").includes('"twice"'), both.get("right").includes('"told"')], [true, true], "the older one is on the left");
  await shoot(page, "deploys");
  const lanes = page.getByRole("group", { name: "Deploys over time" });
  await lanes.getByRole("link", { name: "Before and after told v2" }).waitFor();
  assert.ok((await lanes.locator(".lane").count()) >= 3, "a lane for each service, and the times");
  const nowhere = table.getByRole("row", { name: /nowhere/ });
  await nowhere.getByText("reported, but not seen in spans or profiles yet").waitFor();
  assert.equal(await nowhere.getByRole("link", { name: /Before and after|Details/ }).count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await isAccessible(page);
  await told.getByRole("link", { name: "Before and after" }).click();
  await page.waitForURL(/view=compare.*version=v2/);
  await done(page);
});

longTest("two values of an attribute are compared, as guard and assistants link them", async () => {
  const page = await open(`/?${new URLSearchParams({ view: "compare", q: '{ resource.service.name = "told" }', by: "resource.service.version", left: "v1", right: "v2" })}`);
  await page.locator("[data-answer]").filter({ hasText: /\w/ }).waitFor();
  const sides = page.locator(".side-card");
  await sides.nth(0).filter({ hasText: 'resource.service.version = "v1"' }).filter({ hasText: "58 of 58 spans" }).waitFor();
  await sides.nth(1).filter({ hasText: 'resource.service.version = "v2"' }).waitFor();
  assert.equal(await page.getByText("Slow from").count(), 0);
  await page.getByRole("button", { name: "Swap" }).click();
  await sides.nth(0).filter({ hasText: 'resource.service.version = "v2"' }).waitFor();
  await isAccessible(page);
  await done(page);
});

longTest("what is scraped is listed with what went wrong", async () => {
  const page = await open("/?view=collectors");
  const row = page.getByRole("table", { name: "Scraped targets" }).getByRole("row", { name: /127\.0\.0\.1:1\/debug\/pprof\/profile\?seconds=1/ });
  await row.filter({ hasText: "scraped" }).filter({ hasText: "down" }).filter({ hasText: "onnect" }).waitFor();
  await isAccessible(page);
  await done(page);
});

longTest("a drag on a chart chooses the time, and the page asks again by itself", async () => {
  const page = await open("/?refresh=5s");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  await page.waitForRequest((r) => r.url().includes("/api/v1/services"));
  await page.getByRole("button", { name: /^Time range/ }).click();
  await page.getByLabel("Refresh by itself").selectOption("");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "order-service" }).first().click();
  await page.locator(".plot-over").first().waitFor();
  await page.locator(".plot-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator(".plot-over").first().boundingBox();
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
  // With the picture: a link for those who reach this server, and the graph itself to paste where others read.
  const picture = /!\[Flame graph\]\((http[^)]+)\)$/.exec(text)?.[1];
  const drawn = await page.evaluate(async (a) => (await fetch(a)).text(), picture);
  assert.match(drawn, /<svg[^]*order\.calculate_totals/);
  await page.getByRole("button", { name: /^Copy the picture/ }).click();
  await page.getByText(/^Picture copied$/).waitFor();
  assert.ok((await page.evaluate(async () => (await (await navigator.clipboard.read())[0].getType("image/png")).size)) > 1000);
  await done(page);
});

test("a comparison begins with forms that have what is there", async () => {
  const page = await open("/?view=compare");
  const form = page.getByRole("form", { name: "Slow against fast" });
  await page.waitForFunction(() => /resource.service.name/.test(document.querySelector(".ask-form input")?.value));
  assert.equal(await page.locator(".ask-form").count(), 6);
  await isAccessible(page);
  await shoot(page, "compare-start");
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
  await page.waitForFunction(() => document.activeElement.id === "page-title"); // the focus moves when the view is drawn
  await page.goBack();
  await page.waitForURL(/view=map/);
  await done(page, "map");
});
