// hostile.mjs STORY: a page of another site attacks a server on the reader's machine; prints TAP.
import { strict as assert } from "node:assert";
import { browser, run, story, test } from "./tab.mjs";

/** A tab that shows a page of that site. */
async function visit(url) {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(Number(process.env.PAGE_WAIT_MS ?? 30000));
  await page.goto(url);
  return page;
}
const evil = () => visit(`http://evil.example:${story.sitePort}/`);

/** Asked by this program, which is not a browser: is the trace still there? */
async function isKept() {
  const answer = await fetch(`${story.url}/api/traces/${story.trace}`);
  assert.equal(answer.status, 200, "the trace is still there");
}

/** Statuses the server gave to what a tab sent it; "blocked" where the browser kept the answer from the page. */
function watch(page) {
  const seen = [];
  const note = (request, status) => {
    if (request.url().includes(`:${story.port}/`)) seen.push([request.method(), new URL(request.url()).pathname, status]);
  };
  page.context().on("response", (r) => note(r.request(), r.status()));
  page.context().on("requestfailed", (r) => {
    if (r.failure()?.errorText === "net::ERR_BLOCKED_BY_ORB") note(r, "blocked");
  });
  return seen;
}

test("a foreign page cannot erase by fetch, with a type that needs no question first", async () => {
  const page = await evil();
  const seen = watch(page);
  await page.evaluate(
    (url) => fetch(`${url}/api/v1/erase`, { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: '{"all":true}' }).catch(() => 0),
    story.url,
  );
  await isKept();
  assert.deepEqual(seen, [["POST", "/api/v1/erase", 403]]);
});

test("a foreign page cannot erase with a JSON type: the browser asks first", async () => {
  const page = await evil();
  const failed = await page.evaluate(
    (url) => fetch(`${url}/api/v1/erase`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"all":true}' }).then(() => "", String),
    story.url,
  );
  assert.match(failed, /Failed to fetch/);
  await isKept();
});

test("a foreign page cannot erase, send or flush by a form", async () => {
  for (const path of ["/api/v1/erase?service=web", "/api/v1/erase?all=true", "/ingest?name=x&format=folded", "/api/v1/flush", "/api/v1/profile?service=x"]) {
    const page = await evil();
    const seen = watch(page);
    await page.evaluate((action) => {
      const form = Object.assign(document.createElement("form"), { action, method: "POST", enctype: "text/plain" });
      form.append(Object.assign(document.createElement("input"), { name: "a;b 1\n", value: "2" }));
      document.body.append(form);
      form.submit();
    }, story.url + path);
    await page.waitForURL(/api|ingest/);
    assert.deepEqual(seen.map(([, , status]) => status), [403], path);
  }
  await isKept();
});

test("a foreign page cannot send by a beacon, nor read by an image or a frame", async () => {
  const page = await evil();
  const seen = watch(page);
  await page.evaluate(async (url) => {
    navigator.sendBeacon(`${url}/ingest?name=x&format=folded`, "a;b 1");
    const ended = [];
    // A path each: what is requested twice at once may be fetched once.
    for (const [tag, path] of [["img", "services"], ["script", "findings"], ["iframe", "coverage"]]) {
      const e = document.createElement(tag);
      ended.push(new Promise((r) => (e.onload = e.onerror = r)));
      e.src = `${url}/api/v1/${path}`;
      document.body.append(e);
    }
    await Promise.all(ended);
  }, story.url);
  for (let i = 0; i < 400 && seen.length < 4; i++) await page.waitForTimeout(50);
  assert.deepEqual(
    seen.map(([, path, status]) => `${path} ${status === 403 || status === "blocked" ? "refused" : status}`).sort(),
    ["/api/v1/coverage refused", "/api/v1/findings refused", "/api/v1/services refused", "/ingest refused"],
  );
});

test("a page on another port of the same machine is foreign too", async () => {
  const page = await visit(`http://127.0.0.1:${story.sitePort}/`);
  const seen = watch(page);
  await page.evaluate((url) => fetch(`${url}/api/v1/flush`, { method: "POST", mode: "no-cors" }).catch(() => 0), story.url);
  assert.deepEqual(seen, [["POST", "/api/v1/flush", 403]]);
});

test("a rebound name neither reads nor erases", async () => {
  const page = await (await browser.newContext()).newPage();
  // Whatever the name meant first: this document is of its origin, and so is the script below.
  await page.goto(`http://evil.example:${story.port}/api/echo`);
  const got = await page.evaluate(async (trace) => {
    const ask = async (path, options) => {
      const answer = await fetch(path, options);
      return [answer.status, await answer.text()];
    };
    return [
      await ask("/api/v1/services"),
      await ask(`/api/traces/${trace}`),
      await ask("/metrics"),
      await ask("/api/v1/erase", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"all":true}' }),
    ];
  }, story.trace);
  assert.deepEqual(got.map(([status]) => status), [421, 421, 421, 421]);
  for (const [, text] of got) assert.match(text, /server\.hosts/);
  await isKept();
});

test("a listed origin may read and send", async () => {
  const page = await visit(`http://friend.example:${story.sitePort}/`);
  const got = await page.evaluate(async (url) => {
    const read = await fetch(`${url}/api/v1/services`);
    const sent = await fetch(`${url}/v1/traces`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"resourceSpans":[]}' });
    return [read.status, sent.status];
  }, story.url);
  assert.deepEqual(got, [200, 200]);
});

test("a link on another site opens the page, which reads its data", async () => {
  const page = await evil();
  await page.evaluate((url) => (location.href = `${url}/`), story.url);
  await page.getByRole("link", { name: "web" }).first().waitFor();
});

await run();
