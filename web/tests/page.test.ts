// The parts of the page that can be checked without a browser: figures, axes, colours, layout of the map, shared texts.
import * as assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { logTicks, roundTicks, timeTicks } from "../src/charts/axis";
import { bestDots, heatLevel, heatOf } from "../src/charts/heat";
import { composed, partsBelow, withoutStart } from "../src/flame/compose";
import { diffLevel, rgbOf } from "../src/flame/colors";
import { changeWords, percent, roughChange } from "../src/format/units";
import { wholeOf } from "../src/overview/kpi_strip";
import { layoutOf, neighbours } from "../src/overview/map_layout";
import { callWords, nodeWords, p95Words } from "../src/overview/service_map";
import { ranked, reasonsOf, type AllFindings } from "../src/overview/use_findings";
import { lost, worstFirst } from "../src/overview/worst";
import { innerOf, isMetrics, traceNs, withCondition } from "../src/search/queries";
import { meantBy } from "../src/shell/find_box";
import { commandOf, fixedAddress } from "../src/shell/share_menu";
import { zoomedOut } from "../src/state/range";
import { rangeWords } from "../src/parts/range_control";
import { mostWaitedFor, orphans, ownStretches, piecesIn, rowsOf } from "../src/trace/rows";
import { samplesHint } from "../src/views/coverage";
import { gradeSamples } from "../src/trace/span_profile";
import { ledgerWords } from "../src/trace/waterfall";
import { interval, inOrder, partsWords } from "../src/why/parts";
import type { Service } from "../src/api/types";
import { deltaE, contrast, seenBy } from "./color";
import { profile, span } from "./make";

test("no more samples came than are said to be possible", () => {
  const link = (receivedSamples: number) => ({ receivedSamples, expectedSamples: 87, spans: 2 }) as Parameters<typeof samplesHint>[0];
  assert.equal(samplesHint(link(80)), "80 of about 87 expected for 2 spans on one thread each");
  assert.equal(samplesHint(link(214)), "214, on several threads at once");
});

test("tooltips mark estimates, and of few samples have no times", () => {
  const parts = [{ part: "on_cpu", words: "running", ns: 12e6, few_samples: 2 }, { part: "lock", words: "lock", ns: 3e6, estimate: true }, { part: "unknown", words: "unknown", ns: 5e6 }];
  assert.equal(partsWords(parts, 20e6), "running 2 samples, lock ~3 ms (~15 %), unknown 5 ms (25 %)");
  const ledger = { spanId: "a", parts: { cpu: 12e6, lock: 3e6 }, estimates: ["lock"] };
  assert.equal(ledgerWords(span("a", 0, { fewSamples: 2 }), ledger), "running 2 samples, lock ~3 ms");
  assert.equal(ledgerWords(span("a", 0), { ...ledger, estimates: ["cpu"] }), "running ~12 ms, lock 3 ms");
});

test("all counts of a span's samples are samples, not records", () => {
  const none = { samples: 0, value: 0 };
  const grades = { exact: { samples: 1, value: 50e6 }, subtree: { samples: 1, value: 30e6 }, inherited: none, shared: none, window: none };
  assert.deepEqual([gradeSamples({ samples: 2, looks: 8, grades }, "exact"), gradeSamples({ samples: 2, looks: 8, grades }, "subtree")], [5, 3]);
  assert.equal(gradeSamples({ samples: 2, looks: 2, grades }, "exact"), 1);
});

test("quantiles are marked, and of no request there are none", () => {
  const of = (service: string, count: number, p50Ns = 0) => ({ service, requests: { count, errors: 0, errorShare: 0, ratePerSecond: count, p50Ns, p95Ns: 2 * p50Ns } }) as Service;
  const [busy, quiet, inner] = [of("busy", 90, 5e6), of("quiet", 10, 1e6), of("inner", 0)];
  assert.equal(nodeWords(busy.requests, "time"), "~10 ms · 90/s");
  assert.equal(nodeWords(inner.requests, "time"), "no requests enter it");
  assert.equal(nodeWords(inner.requests, "errors"), "no requests enter it");
  assert.equal(p95Words(inner.requests), "");
  const call = { parent: "busy", child: "inner", callCount: 3 };
  assert.equal(callWords(call, "errors", new Map([["inner", inner]]), 1), "");
  assert.equal(wholeOf([busy, quiet])?.p50, 5e6);
  // Against the time before: the same service, or nothing.
  assert.equal(wholeOf([undefined, quiet])?.rate, 10);
  assert.ok(Number.isNaN(wholeOf([undefined, quiet])?.p50));
  assert.equal(changeWords(NaN, 5e6), "");
});

test("shares are whole from ten on, changes have a sign", () => {
  assert.equal(percent(0.4771), "48 %");
  assert.equal(percent(0.0996), "10 %");
  assert.equal(percent(0.0421), "4.2 %");
  assert.equal(percent(0.0005), "<0.1 %");
  assert.equal(percent(-0.206), "\u221221 %");
  assert.equal(changeWords(100, 116), "+16 %");
  assert.equal(changeWords(100, 99.4), "\u22120.6 %");
  assert.equal(changeWords(100, 100.01), "±0");
  assert.equal(changeWords(0, 5), "");
  assert.equal(roughChange(100, 116), "~+16 %");
  assert.equal(roughChange(0, 5), "");
});

test("axes have round places", () => {
  assert.deepEqual(roundTicks(0, 1120, 5), [0, 500, 1000]);
  assert.deepEqual(roundTicks(0, 900, 5), [0, 200, 400, 600, 800]);
  assert.deepEqual(roundTicks(5, 5, 5), []);
  assert.deepEqual(logTicks(0.01, 0.4, 9), [0.01, 0.02, 0.05, 0.1, 0.2]);
  const day = Date.UTC(2026, 0, 31);
  for (const t of timeTicks(day + 17 * 60e3, day + 77 * 60e3, 6)) assert.equal(t % 600e3, 0);
  assert.ok(timeTicks(day, day + 30 * 86400e3, 8).length <= 9);
});

test("few dots are kept, the slow ones", () => {
  const dots = Array.from({ length: 100 }, (_, i) => ({ labels: [{ key: "trace:id", value: { stringValue: String(i) } }], value: 0.001 * (i + 1), timestampMs: String(1000 * i) }));
  const heat = heatOf({ series: [{ labels: [{ key: "__bucket", value: { doubleValue: 0.128 } }], samples: [{ timestampMs: "0", value: 1 }, { timestampMs: "100000", value: 90 }], exemplars: dots }] });
  const best = bestDots(heat);
  assert.ok(best.some((d) => d.ms > 50000) && bestDots(heat, 0, 50000).length > 0 && bestDots(heat, 0, 50000).every((d) => d.ms <= 50000));
  assert.equal(best.length, 16);
  assert.equal(best[0]?.trace, "99");
  assert.equal(heatLevel(1, 90), 1);
  assert.equal(heatLevel(90, 90), 7);
});

test("a search field knows ids, queries and names", () => {
  const id = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
  assert.deepEqual(meantBy(` ${id.toUpperCase()} `)?.to, { view: "trace", id });
  assert.deepEqual(meantBy("a1b2c3d4e5f60718")?.to, { view: "trace", id: "-", span: "a1b2c3d4e5f60718" });
  assert.deepEqual(meantBy(`00-${id}-a1b2c3d4e5f60718-01`)?.to, { view: "trace", id, span: "a1b2c3d4e5f60718" });
  assert.equal(meantBy("{ status = error }")?.to["view"], "search");
  assert.equal(meantBy("gateway")?.to["view"], "service");
  assert.equal(meantBy("  "), undefined);
});

test("a query with a metric is told from one that names it in a text", () => {
  assert.ok(isMetrics("{ } | rate() by (name)"));
  assert.ok(!isMetrics('{ name = "| rate()" }'));
  assert.equal(innerOf('{ name = "a}b" }'), 'name = "a}b"');
  assert.equal(innerOf("{ } >> { }"), undefined);
  assert.equal(withCondition("{ }", "status = error"), "{ status = error }");
  assert.equal(withCondition("{ a = 1 || b = 2 }", "c = 3"), "{ (a = 1 || b = 2) && c = 3 }");
});

test("what is shared means the same later, and is quoted for a shell", () => {
  const now = 1800000000000;
  assert.equal(fixedAddress({ view: "search", q: "{ }", refresh: "5s" }, now), "/?view=search&from=1799996400000&q=%7B+%7D&until=1800000000000");
  const nasty = "{ name = \"it's; rm -rf $HOME\" }";
  const command = commandOf({ view: "compare", q: nasty, split: "p95" }, now, "http://127.0.0.1:4040");
  assert.equal(command, `spanflame compare --slow-vs-fast '{ name = "it'\\''s; rm -rf $HOME" }' --split p95 --since 3600s --server http://127.0.0.1:4040`);
  assert.match(commandOf({ view: "trace", id: "abc", span: "def" }, now, "http://h"), /^spanflame why def --trace abc --server/);
});

test("ranges are read, and doubled around their middle", () => {
  const now = Date.parse("2026-01-31T14:00:00");
  assert.equal(rangeWords("now-1h", "now", now), "Last 1 h");
  assert.equal(rangeWords(String(now - 5400e3), String(now - 3600e3), now), "12:30–13:00");
  assert.deepEqual(zoomedOut({ from: "now-1h", until: "now" }, now), { from: "now-2h", until: "now" });
  const out = zoomedOut({ from: String(now - 4000e3), until: String(now - 3000e3) }, now);
  assert.deepEqual(out, { from: String(now - 4500e3), until: String(now - 2500e3) });
});

test("a map has rows by the longest way, and calls in a circle do no harm", () => {
  const call = (parent: string, child: string) => ({ parent, child, callCount: 1 });
  const { places, layers } = layoutOf([], [call("a", "b"), call("b", "c"), call("a", "c"), call("c", "a")]);
  assert.deepEqual(Object.fromEntries(places.map((p) => [p.name, p.layer])), { a: 0, b: 1, c: 2 });
  assert.equal(layers, 3);
  assert.equal(layoutOf([], [call("x", "x")]).places.length, 1);
  assert.deepEqual(neighbours(new Set(["b"]), [call("a", "b"), call("c", "d")]).map((c) => c.parent), ["a"]);
});

const service = (name: string, meanNs: number, errorShare: number, count = 100): Service => {
  const f = { errors: errorShare * count, ratePerSecond: 1, errorShare, meanNs, p50Ns: meanNs, p95Ns: meanNs, p99Ns: meanNs };
  return { service: name, spans: count, ...f, requests: { ...f, count }, operations: [] };
};

test("the worst is what failed or grew, and small samples are no news", () => {
  const before = new Map([["grew", service("grew", 1e7, 0)], ["few", service("few", 1e7, 0, 5)], ["same", service("same", 9e9, 0)]]);
  const all = [service("same", 9e9, 0), service("few", 9e7, 0, 5), service("grew", 4e7, 0), service("failed", 1e8, 0.9)];
  assert.deepEqual(worstFirst(all, before, new Set(["grew"])).map((s) => s.service), ["failed", "grew", "same", "few"]);
  assert.equal(lost(service("few", 9e7, 0, 5), before.get("few"), false), 0);
});

test("one cause is said once, whatever finds it", () => {
  const f = (kind: string, subject: string, path: string, share: number) => ({ kind, subject, path, share, sentence: "", action: "", value: 0, unit: "", count: 0, traceId: "", spanId: "" });
  const all: AllFindings = { left: 0, services: [{ service: "s", of: "", samples: 1, reason: "", findings: [f("theme", "pattern matching", "... > rules > regex", 0.34), f("hot_function", "regex", "main > rules > regex", 0.345), f("hot_function", "json", "main > json", 0.3)] }] };
  assert.deepEqual(ranked(all).map((x) => x.subject), ["regex", "json"]);
});

test("services of which nothing was judged are named with the reason", () => {
  const of = (service: string, reason: string, note = "", error = "") => ({ service, of: "", samples: 0, reason, note, error, findings: [] });
  const all: AllFindings = { left: 0, services: [of("a", "no profiles from a in this time"), of("b", "no profiles from b in this time"), of("c", ""), of("d", "", "left out"), of("e", "x", "", "failed")] };
  assert.deepEqual(reasonsOf(all), [{ reason: "no profiles in this time", services: ["a", "b"] }, { reason: "left out", services: ["d"] }]);
});

test("like siblings are one row until they are opened", () => {
  const spans = [span("r", 0), ...["a", "b", "c", "d"].map((id) => ({ ...span(id, 1), name: "load", parentSpanId: "r" })), { ...span("e", 1), parentSpanId: "r" }];
  assert.deepEqual(rowsOf(spans, new Set(), new Set()).map((r) => [r.span.spanId, r.run]), [["r", 0], ["a", 4], ["e", 0]]);
  assert.equal(rowsOf(spans, new Set(), new Set(["a"])).length, 6);
  assert.equal(rowsOf(spans, new Set()).length, 6);
});

test("a span's own parts lie where no child ran", () => {
  const root = { ...span("r", 0), startOffsetNs: 0, durationNs: 100, criticalNs: 10 };
  const child = { ...span("c", 1), startOffsetNs: 20, durationNs: 60, parentSpanId: "r", criticalNs: 60 };
  const own = ownStretches([root, child], 0);
  assert.deepEqual(own, [{ startOffsetNs: 0, durationNs: 20 }, { startOffsetNs: 80, durationNs: 20 }]);
  assert.deepEqual(piecesIn(own, [{ part: "cpu", ns: 30 }, { part: "lock", ns: 10 }]), [
    { part: "cpu", startOffsetNs: 0, durationNs: 20 },
    { part: "cpu", startOffsetNs: 80, durationNs: 10 },
    { part: "lock", startOffsetNs: 90, durationNs: 10 },
  ]);
  assert.equal(piecesIn(own, [{ part: "cpu", ns: 80 }]).reduce((n, p) => n + p.durationNs, 0), 40);
  assert.equal(mostWaitedFor([root, child])?.spanId, "c");
  assert.equal(orphans([{ ...root, parentSpanId: "x" }, child]), 1);
});

test("all time of a span is what ran, hatched waits, and what is unknown", () => {
  const part = (name: string, ns: number) => ({ part: name, words: name, ns, low_ns: null, high_ns: null });
  const cpu = profile({ "main;work": 20 });
  const t = composed([{ part: part("on_cpu", 20), profile: cpu }, { part: part("run_queue", 70), profile: profile({ "main;work": 7 }) }, { part: part("unknown", 10), profile: undefined }], false);
  assert.equal(t.total[0], 100);
  const wait = t.frames.findIndex((f) => f.kind === "wait run_queue");
  const node = t.frame.findIndex((f) => f === wait);
  assert.equal(t.total[node], 70);
  assert.equal(t.frames[t.frame[t.parent[node] ?? 0] ?? 0]?.function, "work");
  assert.deepEqual(inOrder([part("unknown", 90), part("lock", 1), part("child", 50), part("cpu", 2)]).map((p) => p.part), ["cpu", "lock", "child", "unknown"]);
  assert.equal(interval(6e6, 14e6), "6–14 ms");
  assert.deepEqual(partsBelow(t, 0)?.map((p) => [p.part, p.ns]).sort(), [["on_cpu", 20], ["run_queue", 70], ["unknown", 10]]);
  assert.deepEqual(partsBelow(t, node)?.map((p) => p.part), ["run_queue"]);
  assert.equal(partsBelow(composed([{ part: part("on_cpu", 20), profile: cpu }], false), 0), undefined);
  const deep = composed([{ part: part("on_cpu", 3), profile: profile({ "a;b;c;d;e;x": 1, "a;b;c;d;e;y": 2 }) }], false);
  assert.equal(withoutStart(deep).rows, 3);
  assert.equal(withoutStart(deep).tree.total[0], 3);
  assert.equal(withoutStart(t).rows, 0);
});

test("differences have seven steps", () => {
  assert.deepEqual([-0.3, -0.06, -0.01, 0.001, 0.01, 0.06, 0.3].map((c) => diffLevel(c, "absolute")), [-3, -2, -1, 0, 1, 2, 3]);
});

// The tokens themselves: dark is written twice, text is readable, colours are told apart by everybody.
const css = readFileSync("src/tokens.css", "utf8");
const blocks = [css.slice(0, css.indexOf("@media")), css.slice(css.lastIndexOf(':root[data-theme="dark"]'))];
const tokensOf = (b: string) => Object.fromEntries([...b.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map((m) => [m[1] ?? "", m[2] ?? ""]));

test("the two dark themes are the same", () => {
  const byMedia = css.slice(css.indexOf("@media"), css.lastIndexOf(':root[data-theme="dark"]'));
  assert.deepEqual(tokensOf(byMedia), tokensOf(blocks[1] ?? ""));
});

test("text has contrast, services and parts are told apart", () => {
  for (const [theme, t] of blocks.map((b, i) => [i === 0 ? "light" : "dark", tokensOf(b)] as const)) {
    const at = (n: string) => t[n] ?? "#000000";
    for (const ink of ["ink", "ink-2", "ink-3", "accent", "bad", "warn", "good", "more-ink", "less-ink"]) for (const ground of ["panel", "bg"]) assert.ok(contrast(at(ink), at(ground)) >= 4.5, `${theme}: ${ink} on ${ground}`);
    for (const [ink, ground] of [["bad", "bad-soft"], ["warn", "warn-soft"], ["good", "good-soft"], ["accent", "accent-soft"]] as const) assert.ok(contrast(at(ink), at(ground)) >= 4.5, `${theme}: ${ink} on ${ground}`);
    assert.ok(contrast(at("control-line"), at("panel")) >= 3, theme);
    const services = Array.from({ length: 12 }, (_, i) => at(`svc-${String(i + 1)}`));
    const parts = ["cpu", "gc", "queue", "lock", "disk", "net", "sleep"].map((p) => at(`t-${p}`));
    for (const s of services) assert.ok(contrast(s, at("panel")) >= 2.9, `${theme}: ${s}`);
    for (const list of [services, parts])
      for (const eye of ["normal", "protan", "deutan", "tritan"] as const)
        list.forEach((a, i) => list.slice(0, i).forEach((b) => assert.ok(deltaE(seenBy(a, eye), seenBy(b, eye)) >= 10, `${theme}, ${eye}: ${a} and ${b}`)));
  }
});

test("a trace is never shorter than the span that matched", () => {
  assert.equal(traceNs(203, "203900000"), 203.9e6);
  assert.equal(traceNs(203, "1000000"), 203e6);
  assert.equal(traceNs(203, "900000000"), 203e6); // a span that outlives what is known of its trace is told as it is
  assert.equal(traceNs(undefined, undefined), 0);
});

test("colours of the flame graph are those that oklch names", () => {
  assert.equal(rgbOf(1, 0, 0), "#ffffff");
  assert.equal(rgbOf(0.62796, 0.25768, 29.234), "#ff0000");
  assert.equal(rgbOf(0.45201, 0.31321, 264.052), "#0000ff");
});
