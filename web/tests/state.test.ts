import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readMoment, rangeOf } from "../src/state/range";
import { parse, within, write } from "../src/state/url";
import { faultAt, moreOf, placeAt, queryOf } from "../src/search/complete";
import { ellipsis, markdownText, said, visible } from "../src/format/safe_text";
import { bytes, count, countOf, duration, nanoToMs, percent, queryDuration, value } from "../src/format/units";
import { clockWords } from "../src/trace/clocks";
import { gapsOf, rowsOf, spanMatches } from "../src/trace/rows";
import { literal, keyText } from "../src/trace/span_details";
import { heatOf, heightOf, secondsAt } from "../src/charts/heat";
import { boxOf, boxText } from "../src/views/latency";
import { joined, piecesOf } from "../src/api/metrics";
import { deployLink, deploysOf, hasSides, twoLink, type Deploy } from "../src/overview/use_deploys";
import { stretchOf } from "../src/trace/span_profile";
import { matchersOf, textOf, withMatcher } from "../src/format/labels";
import { answerOf } from "../src/why/set_why";
import type { Explain } from "../src/api/types";
import { commandOf, pictureOf } from "../src/shell/share_menu";
import { isAddress } from "../src/state/links";
import { span } from "./make";
import { countsOf, shareChange } from "../src/views/use_deploy_changes";

test("what is written to the address is read back", () => {
  const state = { view: "search", q: '{ a = "x&y" } | ü', fs: "^a+b$", from: "now-1h" };
  assert.deepEqual(parse(write(state).slice(1)), state);
  assert.equal(write({}), "/");
  assert.equal(write({ b: "1", a: "2", view: "v", c: "" }), "/?view=v&a=2&b=1");
});

test("labels are chips as long as they are a list of matchers", () => {
  const text = 'env="prod", host=~"a|b", path!="a \\"b\\", c", x.y!~""';
  const list = matchersOf(text);
  assert.deepEqual(list?.map((m) => [m.name, m.op, m.value]), [["env", "=", "prod"], ["host", "=~", "a|b"], ["path", "!=", 'a "b", c'], ["x.y", "!~", ""]]);
  assert.equal(textOf(list ?? []), text);
  assert.deepEqual(matchersOf(""), []);
  for (const wrong of ["env", "env=prod", 'env="a" b="c"', '1x="a"', 'a="b', 'a="\\q"']) assert.equal(matchersOf(wrong), undefined, wrong);
  const one = { name: "a", op: "=", value: "1" } as const;
  assert.equal(textOf(withMatcher([one], one)), 'a="1"');
});

test("the command of a view asks the same", () => {
  const of = (url: Record<string, string>) => commandOf({ from: "0", until: "now", ...url }, 60e3, "http://x");
  assert.match(of({ view: "compare", q: "{ }", split: "all", focus: "a b" }), /^spanflame why --q '\{ \}' --focus 'a b' --since \d+s --server http:\/\/x$/);
  assert.equal(of({ view: "trace", id: "1", span: "2", focus: "f" }), "spanflame why 2 --trace 1 --focus f --server http://x");
});

test("a name that looks like a flag is no flag of the command", () => {
  const of = (url: Record<string, string>) => commandOf({ from: "0", until: "now", ...url }, 60e3, "http://x");
  const flag = "--server=http://evil.example";
  assert.equal(of({ view: "findings", service: flag }), `spanflame findings --since 3600s --server http://x -- ${flag}`);
  assert.equal(of({ view: "coverage", service: flag }), `spanflame coverage --since 3600s --server http://x -- ${flag}`);
  assert.equal(of({ view: "spans", function: flag, service: "a" }), `spanflame spans-with --service a --since 3600s --server http://x -- ${flag}`);
  assert.match(of({ view: "search", q: "-" }), / --server http:\/\/x -- -$/);
  for (const url of [{ view: "trace", id: flag }, { view: "trace", id: "1", span: flag }]) assert.ok(of(url).endsWith(` -- ${flag}`), of(url));
  assert.equal(of({ view: "findings", service: "a" }), "spanflame findings a --since 3600s --server http://x");
});

test("the copied answer for a set of spans has no mark-up of a name", () => {
  const e = { sentence: "slow because of ![x](http://evil/p.png) www.evil.example @all", evidence: { command: "spanflame why --focus 'a`\u200e\n```\n![x](http://evil)'" } } as unknown as Explain;
  const text = answerOf(e);
  assert.match(text, /^slow because of \\!\\\[x\\\]\(http:\u200b\/\/evil\/p\.png\) www\.\u200bevil\.example @\u200ball\n\n```sh\n/);
  assert.equal(text.split("\n").length, 5);
  assert.ok(text.endsWith("\n```"));
});

test("a name from telemetry is no key to a terminal and no mark-up of an incident", () => {
  const command = commandOf({ from: "0", until: "now", view: "spans", function: "a\u0015'; touch x\r\u001b[2J" }, 60e3, "http://x");
  assert.equal(/[\u0000-\u001f]/.test(command), false);
  assert.match(command, /^spanflame spans-with 'a.'\\''; touch x/);
  assert.equal(markdownText("![x](http://evil) <img> `a` a|b *c* @all me@x &lt; # \u202e"), "\\!\\[x\\](http:\u200b//evil) \\<img\\> \\`a\\` a\\|b \\*c\\* @\u200ball me@x \\&lt; \\# ⟨202e⟩");
  assert.equal(visible("a\u{e0041}b\u00adc"), "a⟨e0041⟩b⟨00ad⟩c");
  for (const address of ["javascript:alert(1)", "data:text/html,x", "//evil", " https://x", "https://", "JAVASCRIPT:1"]) assert.equal(isAddress(address), false, address);
  assert.equal(isAddress("https://ci/7"), true);
});

test("a view's picture is what the server draws of the same", () => {
  const of = (url: Record<string, string>, part = "") => pictureOf({ from: "0", until: "60000", ...url }, 60e3, part);
  assert.equal(of({ view: "trace", id: "ab12", span: "cd" }, "lock"), "/api/v1/spans/ab12/cd/profile?part=lock&format=svg");
  assert.equal(of({ view: "trace", id: "ab12", span: "cd", mode: "cpu" }, "lock"), "/api/v1/spans/ab12/cd/profile?part=cpu&format=svg");
  assert.equal(of({ view: "trace", id: "ab12" }), "/api/v1/traces/ab12/flame?by=critical-path&waits=true&format=svg");
  assert.match(of({ view: "trace", id: "ab12", span: "cd" }, "child"), /^\/api\/v1\/traces\/ab12\/flame/);
  assert.equal(of({ view: "trace", id: "../x" }), "");
  assert.match(of({ view: "compare", q: "{ a }", split: "all" }), /^\/api\/v1\/cohort\?q=%7B\+a\+%7D&time=all&from=-?\d+&until=-?\d+&format=svg$/);
  assert.match(of({ view: "profiles", service: "s", labels: 'env="x"' }), /selector=%7Bservice_name%3D%22s%22%2C\+env%3D%22x%22%7D/);
  assert.equal(of({ view: "findings" }), "");
});

test("the range goes along to another view, the rest does not", () => {
  assert.equal(within({ view: "trace", id: "1", from: "now-3h", fs: "x" }, { view: "search", q: "{}" }), "/?view=search&from=now-3h&q=%7B%7D");
});

test("moments are read as people write them", () => {
  const now = 1800000000000;
  assert.equal(readMoment("now", now), now);
  assert.equal(readMoment("now-90m", now), now - 5400000);
  assert.equal(readMoment("1799999999999", now), 1799999999999);
  assert.equal(readMoment("2026-01-31T14:05:00Z", now), Date.UTC(2026, 0, 31, 14, 5));
  assert.ok(Number.isNaN(readMoment("yesterday", now)));
  assert.deepEqual(rangeOf({ from: "now", until: "now-1h" }, now), { fromMs: now - 3600e3, untilMs: now });
});

test("completion knows where it stands", () => {
  const at = (text: string) => placeAt(text, text.length);
  assert.equal(at("{ ").kind, "key");
  assert.deepEqual(at("{ resource.serv"), { kind: "key", from: 2, word: "resource.serv", key: "" });
  assert.equal(at("{ resource.service.name ").kind, "operator");
  assert.deepEqual(at('{ resource.service.name = "or'), { kind: "value", from: 26, word: "or", key: "resource.service.name" });
  assert.equal(at("{ status = ").key, "status");
  assert.equal(at("{ status = error ").kind, "join");
  assert.equal(at("{ status = error && na").kind, "key");
  assert.equal(at("{ } | ra").kind, "function");
  assert.equal(at("{ } | rate() by (resource.").kind, "key");
  assert.equal(at("{ } ").kind, "join");
});

test("a fault is found by its line and column", () => {
  assert.equal(faultAt("{ a = }", "parse error at line 1, col 7: unexpected }"), 6);
  assert.equal(faultAt("{ a\n = }", "parse error at line 2, col 4: x"), 7);
  assert.equal(faultAt("{", "no place"), -1);
  assert.equal(faultAt("{", "line 9, col 99"), 1);
});

test("form fields write TraceQL, quoting what is text", () => {
  const none = { service: "", name: "", status: "", minDuration: "", maxDuration: "", tags: "" };
  assert.equal(queryOf(none), "{ }");
  assert.equal(queryOf({ ...none, service: 'a"b', status: "error", minDuration: "100ms", maxDuration: "junk" }), '{ resource.service.name = "a\\"b" && status = error && duration >= 100ms }');
  assert.equal(queryOf({ ...none, tags: 'http.status_code=500 a="b c" x=y' }), '{ .http.status_code = 500 && .a = "b c" && .x = "y" }');
});

test("a list of offers that ends early says so", () => {
  assert.equal(moreOf(30, 30, 0), "");
  assert.equal(moreOf(42, 30, 0), "12 more: type on to narrow them");
  assert.equal(moreOf(200, 30, 200), "170 more: type on to narrow them; only the first 200 values are offered");
  assert.equal(moreOf(3, 30, 200), "only the first 200 values are offered");
});

test("attributes become conditions", () => {
  assert.equal(literal({ key: "a", value: { stringValue: 'x"y' } }), '"x\\"y"');
  assert.equal(literal({ key: "a", value: { intValue: "7" } }), "7");
  assert.equal(keyText("span", "http.route"), "span.http.route");
  assert.equal(keyText("span", "a b"), 'span."a b"');
});

test("characters that hide or reorder text are shown", () => {
  assert.equal(visible("a\u202eb\u0007\u0000"), "a⟨202e⟩b␇␀");
  assert.equal(visible("<b>ü日本</b>"), "<b>ü日本</b>");
  assert.equal(ellipsis("abcdefghij", 6), "ab…hij");
});

test("numbers have units", () => {
  assert.equal(duration(1234), "1.23 µs");
  assert.equal(duration(90e9), "1.5 min");
  assert.equal(duration(0), "0 s");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(count(1234567), "1.23 M");
  assert.equal(countOf(1, "sample"), "1 sample");
  assert.equal(countOf(0, "sample") + countOf(12345, "span"), "0 samples12.3 k spans");
  assert.equal(percent(0.00001), "<0.1 %");
  assert.equal(value(2e9, "nanoseconds"), "2 s");
  assert.equal(value(5, "goroutines"), "5 goroutines");
  assert.equal(nanoToMs("1700000000123456789"), 1700000000123.456789);
});

test("a folded span hides what is below it and nothing else", () => {
  const spans = [span("a", 0), span("b", 1), span("c", 2), span("d", 1), span("e", 0)];
  assert.deepEqual(rowsOf(spans, new Set(["b"])).map((r) => [r.span.spanId, r.below, r.isFolded]), [["a", 3, false], ["b", 1, true], ["d", 0, false], ["e", 0, false]]);
  assert.ok(spanMatches(span("x", 0, { attributes: [{ key: "http.route", value: { stringValue: "/Cart" } }] }), "cart"));
  assert.ok(!spanMatches(span("x", 0), "cart"));
});

test("the box of a heatmap is read back from the address", () => {
  const box = { fromMs: 1000, untilMs: 2000, minNs: 5, maxNs: 9 };
  assert.deepEqual(boxOf(boxText(box)), box);
  assert.equal(boxOf("1-2-x-4"), undefined);
  assert.equal(boxOf(undefined), undefined);
});

test("gaps are where a span with children has none", () => {
  const spans = [span("a", 0, { durationNs: 100 }), span("b", 1, { startOffsetNs: 10, durationNs: 30 }), span("c", 2, { startOffsetNs: 10, durationNs: 5 }), span("d", 1, { startOffsetNs: 60, durationNs: 40 })];
  assert.deepEqual(gapsOf(spans, 0, 10), [{ startOffsetNs: 0, durationNs: 10 }, { startOffsetNs: 40, durationNs: 20 }]);
  assert.deepEqual(gapsOf(spans, 0, 11), [{ startOffsetNs: 40, durationNs: 20 }]);
  assert.deepEqual(gapsOf(spans, 3, 1), []);
});

test("a heatmap has a row for every power of two between the edges", () => {
  const heat = heatOf({ series: [
    { labels: [{ key: "__bucket", value: { doubleValue: 0.1 } }], samples: [{ timestampMs: "1000", value: 3 }, { timestampMs: "2000" }] },
    { labels: [{ key: "__bucket", value: { doubleValue: 0.8 } }], samples: [{ timestampMs: "2000", value: 1 }], exemplars: [{ labels: [{ key: "trace:id", value: { stringValue: "ab" } }], value: 0.7, timestampMs: "1500" }] },
  ] });
  assert.deepEqual(heat.edges, [0.1, 0.2, 0.4, 0.8]);
  assert.deepEqual([...(heat.cells[0] ?? [])], [3, 0]);
  assert.deepEqual([...(heat.cells[3] ?? [])], [0, 1]);
  assert.deepEqual(heat.dots, [{ ms: 1500, seconds: 0.7, trace: "ab" }]);
  assert.equal(heightOf(heat, 0.8), 1);
  assert.ok(Math.abs(secondsAt(heat, heightOf(heat, 0.3)) - 0.3) < 1e-9);
});

test("corrected clocks are said in a sentence", () => {
  const clock = { service: "shop", caller: "gateway", calls: 3, offsetNs: -300e6, slackNs: 4e6, isContradictory: false };
  assert.equal(clockWords(clock), "The clock of shop is 300 ms behind that of gateway, to within 4 ms: its spans are drawn corrected.");
  assert.equal(clockWords({ ...clock, offsetNs: 5e6, slackNs: null }), "The clock of shop is at least 5 ms ahead of that of gateway: its spans are drawn corrected.");
  assert.equal(clockWords({ ...clock, isContradictory: true }).includes("contradict each other"), true);
});

test("a range of weeks is asked for in pieces of whole steps, without holes", () => {
  const until = 1800000000000;
  assert.equal(piecesOf({ fromMs: until - 3600e3, untilMs: until }, 60).length, 1);
  const pieces = piecesOf({ fromMs: until - 30 * 86400e3, untilMs: until }, 21600);
  assert.ok(pieces.length >= 30 && pieces.every((p) => p.end - p.start <= 86400 && (p.end - p.start) % 21600 === 0));
  for (let i = 1; i < pieces.length; i++) assert.equal(pieces[i]?.start, pieces[i - 1]?.end);
  assert.ok((pieces[0]?.start ?? Infinity) <= until / 1e3 - 30 * 86400 && (pieces[pieces.length - 1]?.end ?? 0) >= until / 1e3);
});

test("pieces of an answer are joined by their labels", () => {
  const labels = [{ key: "a", value: { stringValue: "x" } }];
  const all = joined([
    { series: [{ labels, samples: [{ timestampMs: "1", value: 1 }, { timestampMs: "2", value: 2 }] }] },
    { series: [{ labels, samples: [{ timestampMs: "2", value: 5 }, { timestampMs: "3", value: 3 }] }, { labels: [], samples: [{ timestampMs: "3", value: 9 }] }], status: "PARTIAL", message: "m" },
  ]);
  assert.deepEqual(all.series?.map((s) => s.samples?.map((p) => p.value)), [[1, 5, 3], [0, 0, 9]]);
  assert.equal(all.status, "PARTIAL");
});

test("a deploy is what the server lists; only one with both versions in spans has two sides", () => {
  const one = { service: "shop", version: "v2", against: "v1", attribute: "resource.service.version", timeUnixNano: "1700000000123000000", posted: true, seen: true, commit: "", environment: "prod", comment: "<b>", url: "https://ci.example/7" };
  const all = deploysOf({ deploys: [one, { ...one, attribute: "", url: "javascript:alert(1)" }, { ...one, against: "", attribute: "", seen: false }, { ...one, attribute: "resource.commit" }], note: "" });
  assert.deepEqual(all.map(hasSides), [true, false, false, true]);
  assert.deepEqual(all.map((d) => d.url !== ""), [true, false, true, true]);
  assert.equal(all[0]?.ms, 1700000000123);
  const links = all.filter(hasSides).map((d) => deployLink(d));
  assert.equal(links[0]?.["right"], '{ resource.service.name = "shop" && resource.service.version = "v2" && (kind = server || kind = consumer) }');
  assert.deepEqual([links[0]?.["version"], links[1]?.["version"]], ["v2", undefined]);
  assert.deepEqual(deploysOf(undefined), []);
  const v2 = all[0] as Deploy;
  assert.deepEqual([twoLink({ ...v2, version: "v1" }, { ...v2, version: "v3" })].map((l) => [l["against"], l["version"]]), [["v1", "v3"]]);
  const other = twoLink(v2, { ...v2, service: "pay" });
  assert.deepEqual([other["version"], other["left"]?.includes('"shop"'), other["right"]?.includes('"pay"')], [undefined, true, true]);
});

test("errors of two versions differ by an interval that holds for none, too", () => {
  const sample = (n: number) => [{ timestampMs: "1", value: n - 1 }, { timestampMs: "2", value: 1 }];
  const labels = (version: string, status: string) => [{ key: "resource.service.version", value: { stringValue: version } }, { key: "status", value: { stringValue: status } }];
  const answer = { series: [{ labels: labels("v1", "unset"), samples: sample(58) }, { labels: labels("v2", "unset"), samples: sample(40) }, { labels: labels("v2", "error"), samples: sample(18) }] };
  const [a, b] = [countsOf(answer, "resource.service.version", "v1"), countsOf(answer, "resource.service.version", "v2")];
  assert.deepEqual([a, b], [{ all: 58, failed: 0 }, { all: 58, failed: 18 }]);
  const c = shareChange(a, b);
  assert.deepEqual([c?.delta, c?.low, c?.high].map((n) => n?.toFixed(3)), ["0.310", "0.189", "0.438"]);
  const none = shareChange(a, a);
  assert.ok(none && none.low < 0 && none.high > 0 && none.delta === 0);
  assert.equal(shareChange({ all: 0, failed: 0 }, b), undefined);
});

test("a stretch of a span is two numbers in order", () => {
  assert.deepEqual(stretchOf("5-9"), { from: 5, until: 9 });
  assert.equal(stretchOf("9-5"), undefined);
  assert.equal(stretchOf("x"), undefined);
});

test("a duration in a query is written as people write it", () => {
  assert.equal(queryDuration(722_365_000, Math.floor), "722.3ms");
  assert.equal(queryDuration(722_365_000, Math.ceil), "722.4ms");
  assert.equal(queryDuration(500_000_000, Math.floor), "500ms");
  assert.equal(queryDuration(2 ** 30, Math.ceil), "1.074s");
  assert.equal(queryDuration(12_345_678_901_234, Math.floor), "12345s");
  assert.equal(queryDuration(1_500, Math.floor), "1.5us");
  assert.equal(queryDuration(999, Math.ceil), "999ns");
  assert.equal(queryDuration(0, Math.floor), "0ns");
});

// Their file is read, so that a sentence written later is checked too. A text that begins with the command is one to copy.
test("the page names no command in a sentence of the server", () => {
  const sources = ["join/cohort.c", "join/compare.c", "join/compare_time.c", "join/findings.c", "join/span_ledger.c", "join/span_profile.c",
    "join/thinned.c", "join/trace_flame.c", "link/coverage_hint.c", "serve/own/control.c", "serve/own/control_calls.c"];
  const command = /[ (`]spanflame (control|coverage|diff|findings|flame|keep|ledger|why)\b/;
  let n = 0;
  for (const file of sources) {
    const text = readFileSync(`../src/${file}`, "utf8");
    for (const literal of text.match(/"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*/g) ?? []) {
      const sentence = literal.replace(/"\s*"/g, "").slice(1, -1).replace(/%\.\*s|%s/g, "5b8efff798038103");
      if (!command.test(sentence)) continue;
      n++;
      assert.ok(!command.test(said(sentence)), sentence);
    }
  }
  assert.ok(n >= 15, `${n} sentences`);
  assert.equal(said("a; spanflame coverage prints the lines"), "a; the view Coverage shows the lines");
  assert.equal(said("a. spanflame coverage prints the lines"), "a. Coverage shows the lines");
});
