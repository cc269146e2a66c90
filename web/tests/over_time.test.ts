// What alerts and deploys show over time, why findings are put aside, and the data that an empty store loads.
import * as assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, runs } from "../src/charts/line_chart";
import type { Deploy } from "../src/overview/use_deploys";
import { treeOf } from "../src/flame/tree";
import { signed } from "../src/format/units";
import { costOf } from "../src/overview/answer_cards";
import { inOrder } from "../src/parts/sort_table";
import { sourceFunctions } from "../src/trace/span_source";
import { seriesOf, stripOf, windowValues } from "../src/views/alert_lines";
import { demoData, demoProfiles, demoTraces } from "../src/views/demo_data";
import { between, pointsOf } from "../src/views/deploy_figures";
import { joins } from "../src/views/deploy_timeline";
import { cpuChange, shareChange } from "../src/views/use_deploy_changes";
import { profile } from "./make";

const series = (key: string, value: string, samples: [number, number][]) => ({ labels: [{ key, value: { stringValue: value } }], samples: samples.map(([at, v]) => ({ timestampMs: String(at), value: v })) });

test("an alert has the series of its labels, a value for each window and none where there was none", () => {
  const answer = { series: [series("resource.service.name", "web", [[60e3, 1]]), series("resource.service.name", "pay", [[120e3, 5], [240e3, 7]])] } as Parameters<typeof seriesOf>[0];
  const found = seriesOf(answer, { alertname: "slow", resource_service_name: "pay" });
  assert.equal(found, answer?.series?.[1]);
  assert.equal(seriesOf(answer, { alertname: "slow", resource_service_name: "cart" }), undefined);
  assert.deepEqual(windowValues(found, 300e3, 60e3, 4), [5, null, 7, null]);
  assert.deepEqual(windowValues(undefined, 300e3, 60e3, 2), [null, null]);
});

test("the strip of seven days has what fired in them, as far as it reaches into them", () => {
  const day = 86400e3;
  const now = Date.parse("2026-01-10T00:00:00Z");
  const at = (days: number) => new Date(now - days * day).toISOString();
  const parts = stripOf([{ firedAt: at(9), resolvedAt: at(8) }, { firedAt: at(8), resolvedAt: at(3.5) }, { firedAt: at(0.7), resolvedAt: null }], now);
  assert.deepEqual(parts.map((p) => [p.from, p.until].map((n) => Number(n.toFixed(3)))), [[0, 0.5], [0.9, 1]]);
});

test("deploys that would lie on each other are one mark", () => {
  const deploy = (version: string, ms: number): Deploy => ({ service: "a", version, against: "", ms, key: "", isSeen: true, environment: "", comment: "", url: "" });
  const made = joins([deploy("3", 900), deploy("1", 100), deploy("2", 110), deploy("0", -50)], { fromMs: 0, untilMs: 1000 });
  assert.deepEqual(made.map((j) => [j.at, j.of.map((d) => d.version).join(" ")]), [[0, "0"], [0.1, "1 2"], [0.9, "3"]]);
});

test("source is offered of functions whose file is known, the dearest first", () => {
  const p = profile({ "main;slow": 30, "main;quick": 20, "main;lib": 50 });
  const t = treeOf({ ...p, frames: p.frames.map((f) => (f.function === "lib" ? f : { ...f, file: "a.c", line: 3 })) });
  assert.deepEqual(sourceFunctions(t), [{ name: "slow", self: 30 }, { name: "quick", self: 20 }]);
});

test("the demo's samples name spans that are there and lie inside of them", () => {
  const now = 1800000000000;
  const made = demoData(now, 7);
  const spans = new Map(made.spans.map((s) => [`${String(s.otlp["traceId"])} ${String(s.otlp["spanId"])}`, s.otlp]));
  assert.equal(spans.size, made.spans.length, "ids are unique");
  for (const s of made.stacks) {
    const of = spans.get(`${s.traceId} ${s.spanId}`);
    if (!of) throw new Error(s.spanId);
    for (const t of s.times) assert.ok(BigInt(t) >= BigInt(String(of["startTimeUnixNano"])) && BigInt(t) < BigInt(String(of["endTimeUnixNano"])), `${s.stack} at ${t}`);
  }
  for (const s of made.spans) assert.ok(BigInt(String(s.otlp["endTimeUnixNano"])) <= BigInt(now) * 1000000n && /^[0-9a-f]{16}$/.test(String(s.otlp["spanId"])) && /^[0-9a-f]{32}$/.test(String(s.otlp["traceId"])));
  assert.equal((demoTraces(made)["resourceSpans"] as unknown[]).length, 6, "three services of two versions");
  const { stringTable, linkTable } = demoProfiles(made, now)["dictionary"] as { stringTable: string[]; linkTable: unknown[] };
  assert.ok(stringTable.includes("applyLegacyTax"));
  assert.equal(linkTable.length, made.stacks.length + 1);
});

test("a line has no stroke over a gap, and a value alone is a run of its own", () => {
  assert.deepEqual(runs([1, 2, null, 3, null, null, 0, 5]), [[0, 1], [3], [6, 7]]);
  assert.deepEqual(runs([null]), []);
});

test("the pointer reads the nearest time", () => {
  assert.deepEqual([-5, 12, 16, 99].map((ms) => nearest([0, 10, 20], ms)), [0, 1, 2, 2]);
  assert.equal(nearest([], 3), -1);
});

test("a change of the share of errors has its sign, at both ends of its interval too", () => {
  const words = (n: number) => signed(pointsOf(n), n);
  const change = (before: number, after: number) => {
    const c = shareChange({ all: 100, failed: before }, { all: 100, failed: after });
    return c && [c.delta, c.low, c.high].map(words);
  };
  assert.deepEqual(change(40, 10), ["−30 points", "−41 points", "−18 points"]);
  assert.deepEqual(change(10, 40), ["+30 points", "+18 points", "+41 points"]);
  assert.deepEqual(change(4, 2), ["−2.0 points", "−8.0 points", "+3.6 points"]);
  assert.equal(shareChange({ all: 0, failed: 0 }, { all: 9, failed: 1 }), undefined);
});

test("an interval has its unit once where both ends have it", () => {
  assert.equal(between("+19 points", "+44 points"), "+19 to +44 points");
  assert.equal(between("−392 µs", "+1.2 ms"), "−392 µs to +1.2 ms");
  assert.equal(between("−0.5 ms", "+1.2 ms"), "−0.5 to +1.2 ms");
});

test("rows without a value are below all others, whichever way a column sorts", () => {
  const values = [3, undefined, -1, undefined, 7];
  const sorted = (sign: number) => [...values].sort((a, b) => inOrder(a, b, sign));
  assert.deepEqual(sorted(-1), [7, 3, -1, undefined, undefined]);
  assert.deepEqual(sorted(1), [-1, 3, 7, undefined, undefined]);
});

test("the CPU time of a deploy includes the service's own child spans, and no other service's", () => {
  const part = (name: string, ns: number, children: unknown[] = []) => ({ part: name, words: name, ns, low_ns: ns - 1, high_ns: ns + 2, children });
  const child = (service: string, ns: number) => ({ service, name: "c", parts: [part("run_queue", 50), part("on_cpu", ns)] });
  const explain = (parts: unknown[]) => ({ explain: { service: "web", duration_ns: 9, low_ns: 1, high_ns: 2, parts }, counts: { left: { all: 1, failed: 0 }, right: { all: 1, failed: 0 } } }) as unknown as Parameters<typeof cpuChange>[0];
  assert.deepEqual(cpuChange(explain([part("on_cpu", 3), part("child", 90, [child("web", 40), child("db", 700)])])), { delta: 43, low: 41, high: 47 });
  assert.deepEqual(cpuChange(explain([part("child", 90, [child("web", 40)])])), { delta: 40, low: 39, high: 42 });
  assert.equal(cpuChange(explain([part("child", 90, [child("db", 700)])])), undefined);
  assert.equal(cpuChange(undefined), undefined);
});

test("a finding that few requests bear has their share beside its cost", () => {
  assert.equal(costOf({ perRequestNs: 1.04e6, requestShare: 0.02, share: 0.19 }), "52 ms in 2 % of requests");
  assert.equal(costOf({ perRequestNs: 6.5e6, requestShare: 1, share: 0.3 }), "6.5 ms per request");
  assert.equal(costOf({ perRequestNs: 6.5e6, requestShare: null, share: 0.3 }), "6.5 ms per request");
  assert.equal(costOf({ perRequestNs: null, requestShare: null, share: 0.3 }), "30 %");
});
