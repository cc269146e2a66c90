// state.mjs STORY: what a person does with the page, in a real browser against a real server; states: nothing there, failures, tokens, themes and widths. Run by clicks.mjs.
import { strict as assert } from "node:assert";
import { canvas, done, isAccessible, longTest, open, shoot, story, test, trace } from "./tab.mjs";

const { ids } = story;

test("hostile names are text everywhere", async () => {
  for (const path of ["/", "/?view=coverage", "/?view=profiles", "/?view=search", trace(ids.hostile), trace(ids.hostile, `&span=${ids.hostileSpan}&pane=profile&fv=both`), trace(ids.hostile, `&span=${ids.hostileSpan}&pane=details`)]) {
    const page = await open(path);
    await page.waitForFunction(() => document.body.innerText.includes("<script>window.hacked"), null, { timeout: 10000 }).catch(() => assert.ok(path.includes("search"), `${path} shows the name`));
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
    assert.ok(!(await page.evaluate(() => document.body.innerText)).includes("\u202e"), `${path} shows no reordering character`);
    await done(page, path === "/" ? "hostile" : undefined);
  }
});

longTest("both themes are readable", async () => {
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

/** When the first span of a store began: its samples are sent later and have times within it. */
const firstMs = Date.now() - 60e3;

/** What a program sends to an empty store: one span, then its samples. */
async function sendFirst(base, what) {
  const [traceId, spanId, startMs] = ["f1".repeat(16), "f2".repeat(8), firstMs];
  const nano = (ms) => `${String(ms)}000000`;
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "first" } }] };
  const span = { traceId, spanId, name: "GET /first", kind: 2, startTimeUnixNano: nano(startMs), endTimeUnixNano: nano(startMs + 100) };
  const times = Array.from({ length: 8 }, (_, i) => nano(startMs + 10 + i * 10));
  const type = { typeStrindex: 1, unitStrindex: 2 };
  const profile = (of, links) => ({
    resourceProfiles: [{ resource, scopeProfiles: [{ profiles: [{ sampleType: type, periodType: type, period: 10e6, timeUnixNano: of[0], durationNano: "100000000", samples: [{ stackIndex: 1, ...links, values: of.map(() => 10e6), timestampsUnixNano: of }] }] }] }],
    dictionary: { mappingTable: [{}], stringTable: ["", "cpu", "nanoseconds", "main"], functionTable: [{}, { nameStrindex: 3 }], locationTable: [{}, { lines: [{ functionIndex: 1, line: 1 }] }], stackTable: [{}, { locationIndices: [1] }], linkTable: [{}, { traceId, spanId }], attributeTable: [{}] },
  });
  // Samples of an hour before belong to no span.
  const bodies = { span: ["/v1/traces", { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }], profile: ["/v1development/profiles", profile([nano(startMs - 3600e3)], {})], linked: ["/v1development/profiles", profile(times, { linkIndex: 1 })] };
  const [path, body] = bodies[what];
  const answer = await fetch(base + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
}

test("an empty store says how to send data, with this address, and ticks what has arrived", async () => {
  const page = await open("/", { base: story.empty });
  await page.getByRole("heading", { name: "Nothing here yet" }).waitFor();
  await page.getByRole("tab", { name: "Python" }).click();
  assert.ok((await page.locator("pre").innerText()).includes(story.empty));
  const steps = page.getByRole("list", { name: "First steps" });
  assert.equal(await steps.getByText(/^Waiting for /).count(), 3);
  await isAccessible(page);
  await shoot(page, "first-use");
  await sendFirst(story.empty, "profile");
  await steps.getByText("Profiles arrive: CPU (time).").waitFor();
  await page.getByRole("link", { name: "Open the profiles" }).waitFor();
  assert.equal(await steps.getByText(/^Waiting for /).count(), 2);
  await sendFirst(story.empty, "span");
  await steps.getByText("Spans arrive from first.").waitFor();
  assert.equal(await steps.getByText(/^Waiting for samples/).count(), 1, "samples of another time belong to no span");
  await sendFirst(story.empty, "linked");
  await steps.getByText("Spans of first have samples.").waitFor();
  await shoot(page, "first-use-done");
  await page.getByRole("button", { name: "Open the services" }).waitFor();
  await done(page);
});

longTest("an empty store loads a demo by a button, which has causes to find", async () => {
  const page = await open("/", { base: story.blank });
  await page.getByRole("button", { name: "Load the demo" }).click();
  await page.getByRole("row", { name: /^demo-orders / }).waitFor();
  await page.getByRole("article").filter({ hasText: /lookupRate|regexMatch/ }).first().waitFor();
  await page.getByRole("table", { name: "Slowest requests" }).getByRole("link", { name: "Why slow?" }).first().click();
  await page.locator(".side [data-answer]").filter({ hasText: /lookupRate/ }).waitFor();
  await page.getByText("Match quality: known").waitFor();
  await shoot(page, "loaded-demo-trace");
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByRole("article").first().waitFor();
  await done(page, "loaded-demo");
});

longTest("what a service misses is marked when it arrives", async () => {
  await sendFirst(story.blank, "span");
  const page = await open("/?view=coverage&service=first", { base: story.blank });
  await page.locator(".missing").first().waitFor();
  assert.equal(await page.getByText("Arriving").count(), 0);
  await sendFirst(story.blank, "linked");
  await page.locator(".missing").filter({ hasText: "Arriving" }).first().waitFor();
  await isAccessible(page);
  await done(page, "arriving");
});

test("a server that asks for a token gets one, only then is there data, and the scope that a button needs is said", async () => {
  const page = await open("/", { base: story.locked });
  await page.getByRole("heading", { name: "This server requires authentication" }).waitFor();
  await page.getByLabel("Token").fill(story.token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("heading", { name: "Nothing here yet" }).waitFor();
  await page.getByRole("link", { name: "Collectors" }).click();
  await page.getByText("No collector has polled", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Off: all collectors" }).click();
  await page.getByRole("alert").filter({ hasText: "scope control" }).waitFor();
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
  await page.getByRole("row", { name: /^first / }).or(page.getByRole("heading", { name: "Nothing here yet" })).waitFor();
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

longTest("a slow answer has its shape first and can be cancelled, an old one stays with its time, a partial one says what is missing", async () => {
  const page = await open("/?view=coverage");
  let mode = "silent";
  await page.route("**/api/v1/services?*", async (route) => {
    if (mode === "silent") return undefined;
    if (mode === "broken") return route.fulfill({ status: 500, body: "a block is damaged" });
    const answer = await route.fetch();
    return route.fulfill({ response: answer, headers: { ...answer.headers(), ...(mode === "partial" ? { "x-spanflame-partial": "node-c did not answer in 5 s" } : {}) } });
  });
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.locator(".state.loading .skeleton").first().waitFor();
  await isAccessible(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alert").filter({ hasText: "Could not load the services: The query was cancelled." }).waitFor();
  mode = "partial";
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  await page.getByText(/^Partial node-c did not answer in 5 s\./).waitFor();
  mode = "broken";
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("alert").filter({ hasText: /^Could not load the services: a block is damaged\. Shown below is the answer of \d\d:\d\d/ }).waitFor();
  assert.ok(await page.locator(".stale").getByRole("row", { name: /order-service/ }).isVisible());
  await isAccessible(page);
  await page.unroute("**/api/v1/services?*");
  await done(page, "states");
});

longTest("every view says what failed and keeps what was there", async () => {
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
  const page = await open("/?view=coverage");
  await page.route("**/api/v1/findings?*", (r) => r.fulfill({ status: 504, body: "the query took too long" }));
  await page.route("**/api/dependencies?*", (r) => r.fulfill({ status: 503, body: "starting" }));
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "Could not load the findings: the query took too long." }).waitFor();
  await page.getByRole("row", { name: /order-service.* failed$/ }).waitFor();
  await page.getByText("The map failed: starting").waitFor();
  await page.getByRole("region", { name: "Entry requests" }).getByText(/\/(min|s)/).first().waitFor();
  assert.equal(await page.getByText("no findings").count(), 0);
  await page.unroute("**/*");
  await done(page, "failed-part");
});

longTest("five hundred services have few rows on screen, a filter, and findings by one question", async () => {
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
  for (let i = 0; i < 600 && asked === 0; i++) await page.waitForTimeout(50); // three queries at a time: it may wait
  assert.equal(asked, 1);
  await page.getByRole("link", { name: "s499" }).waitFor();
  await page.unroute("**/*");
  await done(page, "services-500");
});

longTest("what nobody looks at any more is not asked any further", async () => {
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

longTest("a server slower than the refresh still answers", async () => {
  const page = await open("/");
  await page.getByRole("row", { name: /order-service/ }).waitFor();
  const given = [];
  page.on("requestfailed", (r) => given.push(new URL(r.url()).pathname));
  let n = 0;
  await page.route("**/api/v1/services?*", async (route) => {
    n++;
    await new Promise((go) => setTimeout(go, 7000)); // longer than the interval
    return route.continue().catch(() => undefined);
  });
  await page.getByRole("button", { name: /^Time range/ }).click();
  await page.getByLabel("Refresh by itself").selectOption("5s");
  await page.keyboard.press("Escape");
  const answered = () => page.waitForResponse((r) => r.url().includes("/api/v1/services?"));
  await answered();
  await answered(); // and the refresh goes on
  assert.ok(n >= 2 && !given.includes("/api/v1/services"), `${n} queries, given up: ${given.join("; ")}`);
  await page.unroute("**/*");
  await done(page);
});

longTest("a range is typed, and a wrong one is refused", async () => {
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

longTest("three widths and two themes hold every view without scrolling sideways", async () => {
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
