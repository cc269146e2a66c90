// The overview's figures: what changed and what chance explains, CPU time per request.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "../src/api/types";
import { BLOCKS, movedOf, partsOf, ratioOf, spreadOf, student, type Part } from "../src/overview/blocks";
import { cpuChangeOf, cpuPerRequest } from "../src/overview/cpu_per_request";
import { requestsIn } from "../src/overview/kpi_strip";
import { ENOUGH, isNews } from "../src/overview/worst";
import type { Cost } from "../src/views/use_costs";

/** Numbers from 0 to 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

test("the quantile of Student's t is that of the tables", () => {
  for (const [df, want] of [[4, 4.604], [9, 3.25], [18, 2.878], [120, 2.617]] as const) assert.ok(Math.abs(student(2.576, df) / want - 1) < 0.02, `${String(df)} ${String(student(2.576, df))}`);
});

test("equal figures are seldom said to differ, large changes are found", () => {
  const next = numbers(18);
  const period = (mean: number): Part[] => Array.from({ length: BLOCKS }, () => ({ n: mean * (1 + (next() - 0.5) * 0.6), d: 0.8 + next() * 0.4 }));
  let [alarms, found] = [0, 0];
  for (let i = 0; i < 2000; i++) {
    const same = movedOf(ratioOf(period(10)), ratioOf(period(10)));
    if (same && (same.low > 0 || same.high < 0)) alarms++;
    const grown = movedOf(ratioOf(period(10)), ratioOf(period(17)));
    if (grown && grown.low > 0) found++;
  }
  assert.ok(alarms <= 40, `${String(alarms)} of 2000`);
  assert.ok(found >= 1600, `${String(found)} of 2000`);
  assert.equal(movedOf(ratioOf(period(10).slice(0, 4)), ratioOf(period(10))), undefined);
  assert.equal(ratioOf([]), undefined);
});

test("points belong to the part in which their step lies", () => {
  const range = { fromMs: 1000, untilMs: 11000 };
  const parts = partsOf([{ ms: 1000, value: 9 }, { ms: 2000, value: 1 }, { ms: 2500, value: 5 }, { ms: 11000, value: 2 }, { ms: 12000, value: 7 }], range, 1000);
  assert.deepEqual(parts, [[1], [5], null, null, null, null, null, null, null, [2]]);
});

const cost = (cpu: (number | null)[]): Cost => ({ cores: undefined, memory: undefined, cpu });
const all = (v: number) => Array<number>(BLOCKS).fill(v);

test("CPU per request adds up the services, each over the time it was profiled", () => {
  const requests = all(10);
  const both = cpuPerRequest(new Map([["a", cost(all(20e6))], ["b", cost(all(5e6))], ["idle", cost(all(0))]]), requests);
  assert.equal(both?.ns, 2.5e6);
  assert.deepEqual([both?.whole, both?.some], [["a", "b"], ["a", "b"]]);
  // The profiles of the second half are not spread over all requests.
  const half = cpuPerRequest(new Map([["a", cost([null, null, null, null, null, ...all(20e6).slice(5)])]]), requests);
  assert.equal(half?.ns, 2e6);
  assert.deepEqual(half?.whole, []);
  assert.deepEqual(half?.parts.slice(3, 6), [null, null, 2e6]);
  // Half of the requests seem to lie before the first profile, since their step began in the part before.
  const late = (n: number) => all(0).map((_, i) => (i === 9 ? n : 0));
  const late2 = all(0).map((_, i) => (i >= 8 ? 5 : 0));
  assert.equal(cpuPerRequest(new Map([["a", cost(late(20e6))]]), late2)?.ns, 2e6);
  assert.equal(cpuPerRequest(new Map([["a", cost(all(1))]]), all(0)), undefined);
  assert.equal(cpuPerRequest(new Map(), requests), undefined);
  assert.equal(cpuPerRequest(undefined, requests), undefined);
});

test("CPU per request is compared for the same services only", () => {
  const wave = (v: number) => all(v).map((x, i) => x * (1 + (i % 3) * 0.01));
  const past = new Map([["a", cost(wave(20e6))]]);
  const grown = cpuChangeOf(new Map([["a", cost(wave(26e6))]]), all(10), past, all(10));
  assert.ok(typeof grown !== "string" && (grown.moved?.low ?? 0) > 0);
  const joined = cpuChangeOf(new Map([["a", cost(wave(20e6))], ["b", cost(wave(20e6))]]), all(10), past, all(10));
  assert.equal(joined, "not compared: b had CPU profiles for a part of the time only");
  assert.equal(cpuChangeOf(past, all(10), new Map(), all(10)), "no CPU profiles or no requests in the preceding period");
  const same = cpuChangeOf(past, all(10), past, all(10));
  assert.ok(typeof same !== "string" && same.moved?.delta === 0 && same.moved.low < 0);
});

test("requests of a part are its rate by its length", () => {
  const range = { fromMs: 0, untilMs: 100e3 };
  const samples = Array.from({ length: 20 }, (_, i) => ({ timestampMs: String((i + 1) * 5000), value: 2 }));
  const lines = { rate: { series: [{ labels: [], samples }] }, failed: {}, p: {} };
  assert.deepEqual(requestsIn(lines, range), all(20));
  assert.deepEqual(requestsIn(undefined, range), Array(BLOCKS).fill(null));
});

const requests = (count: number, p95Ns: number) => ({ count, p50Ns: p95Ns / 4, p95Ns, p99Ns: p95Ns * 1.5, errors: 0, ratePerSecond: 1, errorShare: 0, meanNs: p95Ns / 3 }) as Service["requests"];

test("a p95 that chance may have moved is no news", () => {
  const moved = (half: number) => ({ delta: 1e6, low: 1e6 - half, high: 1e6 + half });
  assert.ok(isNews(requests(4000, 4e6), requests(4000, 5e6), moved(0.9e6)));
  assert.ok(!isNews(requests(4000, 4e6), requests(4000, 5e6), moved(1.1e6)));
  assert.ok(!isNews(requests(4000, 5e6), requests(4000, 4e6), moved(0.9e6)), "its parts say the opposite");
  assert.ok(!isNews(requests(4000, 4e6), requests(4000, 5e6), undefined), "too few parts");
  assert.ok(!isNews(requests(ENOUGH - 1, 4e6), requests(4000, 5e6), moved(1)));
  assert.ok(!isNews(requests(4000, 4e6), requests(4000, 4.3e6), moved(1)), "within a tenth");
  assert.ok(!isNews(undefined, requests(4000, 5e6), moved(1)));
});

test("of services without a change few are marked, even where a twentieth of the requests is far slower", () => {
  const next = numbers(4);
  const quantile = (sorted: number[]) => sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))] ?? 0;
  const draws = { exponential: () => -Math.log(1 - next()) * 1e7, "two kinds": () => (next() < 0.05 ? 5e7 : 1e7) * (0.9 + 0.2 * next()) };
  for (const [name, draw] of Object.entries(draws))
    for (const n of [ENOUGH, 4 * ENOUGH]) {
      const period = () => {
        const parts = Array.from({ length: BLOCKS }, () => Array.from({ length: n / BLOCKS }, draw));
        return { whole: requests(n, quantile(parts.flat().sort((a, b) => a - b))), spread: spreadOf(parts.map((p) => [quantile(p.sort((a, b) => a - b))])) };
      };
      let marked = 0;
      for (let i = 0; i < 200; i++) {
        const [a, b] = [period(), period()];
        if (isNews(a.whole, b.whole, movedOf(a.spread, b.spread))) marked++;
      }
      assert.ok(marked <= 6, `${name}: ${String(marked)} of 200 with ${String(n)} requests`);
    }
});
