// demo.mjs STORY: from the demo's slow requests to the lines that make them slow, by clicks and keys; prints TAP.
import { strict as assert } from "node:assert";
import { canvas, done, isAccessible, open, params, run, test } from "./tab.mjs";

/** A drag with the left button over a part of an element, in shares of its size. */
async function drag(page, element, from, to) {
  const box = await element.boundingBox();
  const at = ([x, y]) => [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 5 });
  await page.mouse.up();
}

/** The trace and span of the slowest that a query finds, asked as the page asks. */
async function slowest(page, q) {
  return page.evaluate(async (query) => {
    const answer = await fetch(`/api/search?${new URLSearchParams({ q: query, limit: "400", spss: "1" })}`);
    const all = (await answer.json()).traces.map((t) => ({ trace: t.traceID, ...t.spanSets[0].spans[0] }));
    all.sort((a, b) => Number(b.durationNanos) - Number(a.durationNanos));
    return all[0];
  }, q);
}

test("the services of the shop, with their figures and what stands out", async () => {
  const page = await open("/");
  for (const name of ["gateway", "order-service", "pricing", "inventory"]) {
    const row = page.getByRole("row", { name: new RegExp(`^${name} `) });
    await row.waitFor();
    assert.match(await row.innerText(), /[0-9] (m|µ)?s/);
    await row.getByText(/cores/).waitFor();
  }
  await page.getByRole("row", { name: /^order-service / }).getByRole("link", { name: /regexMatch|jsonParse|serialize|evaluateRules/ }).waitFor();
  await page.getByRole("button", { name: "p99" }).click();
  await page.waitForURL(/sort=p99/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 4);
  await isAccessible(page);
  await done(page, "overview");
});

test("slow dots of an operation lead to the function only they run", async () => {
  const page = await open("/");
  await page.getByRole("link", { name: "pricing" }).click();
  await page.getByRole("link", { name: "GET /price", exact: true }).click();
  await page.waitForURL(/operation=GET/);
  const map = page.locator(".heatmap canvas");
  await map.waitFor();
  await page.waitForTimeout(400);
  // The slow way costs sixty milliseconds, the usual one some four: the upper part of the map.
  await drag(page, map, [0.08, 0.04], [0.998, 0.28]);
  await page.getByRole("link", { name: "Compare these spans with the rest" }).click();
  await page.waitForURL(/view=compare/);
  const first = page.getByRole("table", { name: "Functions that differ" }).locator("tbody tr").first();
  await first.waitFor();
  assert.match(await first.innerText(), /LegacyTax|legacy/i);
  await canvas(page).waitFor();
  await done(page, "compare");
});

test("a dot is a trace", async () => {
  const page = await open("/");
  await page.getByRole("link", { name: "gateway" }).click();
  await page.locator(".heatmap canvas").waitFor();
  await page.getByText("Without a mouse").click();
  await page.locator("details li a").first().click();
  await page.locator("[role=treegrid]").waitFor();
  assert.equal(params(page).get("view"), "trace");
  await done(page);
});

test("from a search to the span, its flame graph and its hottest line", async () => {
  const page = await open("/?view=search");
  const editor = page.getByRole("combobox", { name: "TraceQL query" });
  await editor.fill("");
  await editor.pressSequentially("{ na");
  await page.getByRole("option", { name: "name", exact: true }).click();
  await editor.pressSequentially(" = ");
  await editor.pressSequentially('"order.calc');
  await page.getByRole("option", { name: '"order.calculate_totals"' }).click();
  await editor.pressSequentially(" }");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.waitForURL(/calculate_totals/);
  await page.getByRole("button", { name: "Matching span" }).click();
  await page.waitForURL(/sort=span/);
  await page.getByRole("link", { name: "POST /checkout" }).first().click();
  // The span that matched is chosen, and its profile is there without another question.
  await canvas(page).waitFor();
  await page.locator(".side").getByText("order.calculate_totals").first().waitFor();
  await page.locator(".side").getByText("on CPU").first().waitFor();
  await page.locator(".side").getByText("exact", { exact: false }).first().waitFor();
  await page.locator(".bar-ledger").first().waitFor({ state: "attached" });
  assert.ok((await page.locator(".critical").count()) > 3, "the critical path is drawn");
  await page.keyboard.press("/");
  await page.keyboard.type("^regexMatch$");
  await page.getByText(/ matches, \d+(\.\d+)? % through them/).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("4");
  const row = page.getByRole("row", { name: /calculateTotals/ }).first();
  await row.waitFor();
  assert.match(await row.innerText(), /↳[\s\S]*calculateTotals[\s\S]*%/);
  await page.keyboard.press("3");
  await page.getByRole("table", { name: "Functions" }).getByRole("row", { name: /regexMatch|evaluateRules|jsonParse|serialize/ }).first().waitFor();
  await page.keyboard.press("1");
  await isAccessible(page);
  await done(page, "trace");
});

test("every kind of profile of a span has its tab, and a fast span stands against it", async () => {
  const page = await open("/");
  const slow = await slowest(page, '{ name = "order.calculate_totals" }');
  await page.goto(`${new URL(page.url()).origin}/?view=trace&id=${slow.trace}`);
  await page.getByRole("button", { name: "View profile of order.calculate_totals" }).click();
  await canvas(page).waitFor();
  const tabs = page.getByRole("tablist", { name: "Profile type" }).getByRole("tab");
  assert.ok((await tabs.count()) > 1, "more than one type");
  for (let i = 0; i < (await tabs.count()); i++) {
    await tabs.nth(i).click();
    await page.waitForFunction((n) => document.querySelectorAll('[aria-label="Profile type"] [role=tab]')[n]?.getAttribute("aria-selected") === "true", i);
    await page.locator(".flame-canvas, .state.empty").first().waitFor();
  }
  await page.getByRole("tab", { name: "Against others like it" }).click();
  await page.getByText("faster ones were found", { exact: false }).waitFor();
  await canvas(page).waitFor();
  await page.keyboard.press("3");
  await page.getByRole("columnheader", { name: "Difference" }).waitFor();
  await done(page, "against");
});

test("samples stand in order of time, a part of the ledger is a graph, a gap says what ran in it", async () => {
  const page = await open("/");
  const slow = await slowest(page, '{ name = "inventory.reserve" }');
  await page.goto(`${new URL(page.url()).origin}/?view=trace&id=${slow.trace}`);
  await page.getByRole("button", { name: "View profile of POST /checkout" }).click();
  await page.locator(".side").getByText("on CPU").first().waitFor();
  await page.locator(".flame-canvas, .state.empty").first().waitFor();
  await page.getByRole("button", { name: "View profile of inventory.reserve" }).first().click();
  await page.locator(".side").getByText("inventory.reserve").first().waitFor();
  await page.locator(".side .ledger-words").getByRole("button").first().click();
  await page.waitForURL(/part=/);
  await page.getByText("Only the part of the ledger").waitFor();
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "All of it" }).click();
  await page.getByRole("button", { name: "View profile of order.calculate_totals" }).click();
  await canvas(page).waitFor();
  await page.getByLabel("Order", { exact: true }).selectOption({ index: 1 });
  await page.waitForURL(/fc=1/);
  await canvas(page).waitFor();
  // An order with the old tax: 60 ms of GET /price after the last of its child spans.
  const taxed = await slowest(page, '{ name = "GET /price" }');
  await page.goto(`${new URL(page.url()).origin}/?view=trace&id=${taxed.trace}`);
  await page.getByRole("button", { name: /of GET \/price without a child span: what ran/ }).first().click();
  await page.waitForURL(/gap=/);
  await page.getByText(/no child span ran/).waitFor();
  await done(page, "gap");
});

test("a trace is folded, searched, zoomed and counted", async () => {
  const page = await open("/");
  const slow = await slowest(page, '{ name = "GET /price" }');
  await page.goto(`${new URL(page.url()).origin}/?view=trace&id=${slow.trace}`);
  await page.locator("[role=treegrid]").waitFor();
  const before = await page.locator("[data-span]").count();
  await page.getByLabel("Find spans").fill("load_attribute");
  await page.getByText(/1[0-9]+ found/).first().waitFor();
  await page.getByLabel("Find spans").fill("");
  await drag(page, page.locator(".minimap canvas"), [0.3, 0.5], [0.8, 0.5]);
  await page.waitForURL(/tz=0\.3/);
  await page.getByRole("button", { name: "Whole trace" }).click();
  await page.waitForFunction(() => !location.search.includes("tz="));
  await page.locator("[data-span]").first().getByRole("button", { name: "Fold" }).click();
  await page.waitForFunction(() => document.querySelectorAll("[data-span]").length === 1);
  await page.locator("[data-span]").first().getByRole("button", { name: "Unfold" }).click();
  await page.waitForFunction((n) => document.querySelectorAll("[data-span]").length >= n, Math.min(before, 10));
  await page.getByRole("tab", { name: "Statistics" }).click();
  const row = page.getByRole("row", { name: /pricing\.load_attribute\b/ });
  assert.match(await row.first().innerText(), /12/);
  await page.getByRole("tab", { name: "Flame graph" }).click();
  await canvas(page).waitFor();
  await page.getByRole("button", { name: "critical path", exact: true }).waitFor();
  await done(page, "trace-flame");
});

test("a deploy is marked, and the time before it is the baseline", async () => {
  const page = await open("/?view=profiles&service=order-service");
  await page.locator(".u-over").waitFor();
  await page.locator(".marks").getByText("def456").waitFor();
  // To the stretch in which the shop was open: the deploy is in its middle.
  const open_ = await page.evaluate(async () => {
    const answer = await (await fetch("/api/metrics/query_range?q={}|count_over_time()&step=1s&since=1h")).json();
    const busy = (answer.series?.[0]?.samples ?? []).filter((s) => s.value > 0).map((s) => Number(s.timestampMs));
    return [Math.min(...busy) - 1000, Math.max(...busy) + 6000];
  });
  await page.goto(`${page.url()}&from=${open_[0]}&until=${open_[1]}`);
  await page.locator(".u-over").waitFor();
  await canvas(page).waitFor();
  await page.getByRole("button", { name: /Compare with a time before/ }).click();
  await page.waitForTimeout(300);
  await drag(page, page.locator(".u-over"), [0.02, 0.5], [0.4, 0.5]);
  await page.waitForURL(/base=/);
  await page.getByText("only in the baseline").first().waitFor();
  await page.getByLabel("Search functions").fill("^evaluateRules$");
  await page.getByText(/through them/).waitFor();
  await done(page, "deploy");
});

test("findings name what was planted, coverage that nothing is missing", async () => {
  const page = await open("/?view=findings&service=order-service");
  await page.getByText(/regexMatch/).first().waitFor();
  await page.getByRole("link", { name: "show in the graph" }).first().click();
  await page.getByText(/through them/).waitFor();
  await page.getByRole("link", { name: "Findings" }).click();
  await page.getByText(/equal|siblings|load_attribute/).first().waitFor();
  await page.getByRole("link", { name: "Coverage" }).click();
  await page.getByText("nothing is missing").first().waitFor();
  await done(page, "coverage");
});

test("a pasted link opens the same view, keys and back button included", async () => {
  const page = await open("/");
  const slow = await slowest(page, '{ name = "order.calculate_totals" }');
  await page.goto(`${new URL(page.url()).origin}/?view=trace&id=${slow.trace}`);
  await page.getByRole("button", { name: "View profile of order.calculate_totals" }).click();
  await canvas(page).waitFor();
  await canvas(page).focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/fz=/);
  await page.keyboard.press("i");
  await page.waitForURL(/fi=1/);
  const address = new URL(page.url());
  const copy = await open(address.pathname + address.search);
  await canvas(copy).waitFor();
  await copy.getByRole("button", { name: "Show all" }).waitFor();
  assert.ok(await copy.getByLabel("icicle").isChecked());
  await done(copy, "pasted");
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes("fi=1"));
  await page.goForward();
  await page.waitForURL(/fi=1/);
  await done(page);
});

await run();
