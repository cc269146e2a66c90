import * as assert from "node:assert/strict";
import { test } from "node:test";
import type { Explain } from "../src/api/types";
import { densityOf, placeOn, scaleOf } from "../src/charts/density";
import { entriesOf, mergedTime } from "../src/trace/trace_time";
import { causeOf, oneOfEach } from "../src/why/causes";
import { matchOf } from "../src/why/span_why";
import { profile, span } from "./make";

function explain(sentence: string, parts: Explain["parts"], samples = 9): Explain {
  return { of: "trace", sentence, duration_ns: parts.reduce((n, p) => n + p.ns, 0), low_ns: null, high_ns: null, spans: 1, parts, evidence: { spans: [], query: "", samples, flame: "", command: "", page: "" }, note: "", reason: "", partial: false };
}
const part = (name: string, ns: number, functions: string[] = [], more: Partial<Explain["parts"][number]> = {}): Explain["parts"][number] => ({
  part: name, words: name, ns, low_ns: null, high_ns: null, functions: functions.map((f) => ({ function: f, caller: "", library: "", path: f, file: "", line: 0, ns, low_ns: null, high_ns: null })), ...more,
});

test("a cause is the first clause of the answer, without its intervals", () => {
  const e = explain("211 ms: 89.1 ms running, of that 60.1 ms (41.4 ms to 74.1 ms) applyLegacyTax in price; 54.2 ms waiting for a CPU", [part("run_queue", 54), part("on_cpu", 89, ["applyLegacyTax"])]);
  assert.equal(causeOf(e).words, "89.1 ms running, of that 60.1 ms applyLegacyTax in price");
  assert.equal(causeOf(e).key, "on_cpu applyLegacyTax");
});

test("one of each cause keeps the first of each, and what is not known yet", () => {
  const [a, b] = [causeOf(explain("1 ms: x", [part("lock", 1)])), causeOf(explain("1 ms: y", [part("net", 1)]))];
  const causes = new Map([["1", a], ["2", a], ["3", b]]);
  assert.deepEqual(oneOfEach(["1", "2", "3", "4"], (id) => id, causes), ["1", "3", "4"]);
});

test("match quality is an estimate as soon as a part is one", () => {
  assert.equal(matchOf(explain("", [part("on_cpu", 5)])).words, "known");
  assert.equal(matchOf(explain("", [part("on_cpu", 5, [], { few_samples: 2 })])).words, "few samples");
  assert.equal(matchOf(explain("", [part("on_cpu", 5), part("lock", 1, [], { estimate: true })])).words, "estimate");
  assert.equal(matchOf(explain("", [part("unknown", 5)], 0)).words, "", "no samples, no quality of them");
});

test("the spread of durations has an area of one, and its hump where the quantiles are dense", () => {
  const at = Array.from({ length: 201 }, (_, i) => i / 200);
  const quantiles = Array.from({ length: 33 }, (_, i) => 0.4 + 0.2 * (i / 32));
  const curve = densityOf(quantiles, at);
  assert.ok(Math.abs(curve.reduce((n, v) => n + v, 0) / 200 - 1) < 0.02);
  assert.ok((curve[100] ?? 0) > 10 * (curve[10] ?? 0));
  assert.ok(densityOf([5, 5, 5], at.map((x) => x * 10)).every(Number.isFinite), "all the same is no division by nothing");
  assert.deepEqual(densityOf([], at).slice(0, 2), [0, 0]);
});

test("durations far apart stand on a scale by powers, others from their shortest on", () => {
  const near = scaleOf([[20, 21, 22], [27, 28, 90]]);
  assert.ok(!near.isLog && near.low > 18 && near.high < 40, "the longest one does not squeeze the others");
  const far = scaleOf([[1, 2, 3], [400, 500, 600]]);
  assert.ok(far.isLog);
  assert.ok(placeOn(far, 1) > 0 && placeOn(far, 500) < 1 && placeOn(far, 22) > 0.4 && placeOn(far, 22) < 0.6);
});

test("samples of several processes are in time of the trace, each thread a lane of its own", () => {
  const spans = [span("a", 0), span("b", 1, { service: "t", parentSpanId: "a", startOffsetNs: 100 }), span("c", 2, { service: "t", parentSpanId: "b" }), span("d", 1, { parentSpanId: "gone" })];
  assert.deepEqual(entriesOf(spans).map((s) => s.spanId), ["a", "b", "d"]);
  const [a = span("a", 0), b = span("b", 1)] = spans;
  const t = mergedTime([{ span: a, profile: profile({ "main;x": 5 }), moments: [[0, 0, 5, 2, 0]] }, { span: b, profile: profile({ "go;y": 7 }), moments: [[3, 0, 4, 2, 0], [9, 0, 3, 2, 1]] }], 1000);
  assert.deepEqual(t.moments, [[0, 0, 5, 2, 0], [103, 0, 4, 4, 1], [109, 0, 3, 4, 2]]);
  assert.deepEqual(t.names, ["s: a", "t: b, thread 1", "t: b, thread 2"]);
  const way = (leaf: number) => {
    const out: string[] = [];
    for (let at = leaf; at > 0; at = t.profile.nodes[at]?.[0] ?? 0) out.unshift(t.profile.frames[t.profile.nodes[at]?.[1] ?? 0]?.function ?? "");
    return out.join(";");
  };
  assert.deepEqual([way(2), way(4), t.profile.total], ["main;x", "go;y", 12]);
});
