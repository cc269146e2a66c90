import * as assert from "node:assert/strict";
import { test } from "node:test";
import { baseAmount, basesOf } from "../src/flame/base";
import { folded, svg } from "../src/flame/export";
import { pprof, speedscope } from "../src/flame/export_profile";
import { amount, measureOf, share } from "../src/format/units";
import { patternOf, search, widest } from "../src/flame/search";
import { stateOf } from "../src/flame/flame_state";
import { isLibrary, packageOf, PLAIN, sandwich, through, topRows, transform } from "../src/flame/transform";
import { boxAt, lanesOf, turnsOf } from "../src/flame/lanes";
import { stretchIn } from "../src/flame/time_lanes";
import { diffOf, grafted, isCutBelow, nameOf, nodeAtPlace, nodeUnder, placeOf, profileWithin, scaled, stackOf, timedOf, treeOf, type Moment, type Tree } from "../src/flame/tree";
import { linesOf } from "../src/flame/line_costs";
import { filled } from "../src/state/links";
import { profile } from "./make";

function node(t: Tree, name: string): number {
  return widest(t, name);
}
function values(t: Tree): Record<string, number> {
  const out: Record<string, number> = {};
  for (let i = 1; i < t.n; i++) if ((t.self[i] ?? 0) > 0) out[stackOf(t, i).join(";")] = t.self[i] ?? 0;
  return out;
}

test("totals add up and the heaviest child comes first", () => {
  const t = treeOf(profile({ "main;a": 1, "main;b;c": 3, "main;b": 2 }));
  assert.equal(t.total[0], 6);
  assert.equal(t.total[node(t, "b")], 5);
  assert.equal(nameOf(t, t.first[node(t, "main")] ?? 0), "b");
  assert.equal(t.maxDepth, 3);
});

test("a function is one bar whatever lines it was seen in, and a bar a line when asked", () => {
  const seen = profile({ "main;a": 1, "main;b;c": 3, "main;d": 2 });
  const [main, a, , , d] = ["main", "a", "b", "c", "d"].map((name) => seen.frames.findIndex((f) => f.function === name));
  const frames = seen.frames.map((f, i) =>
    i === main ? { ...f, file: "m.c", line: 9 } : i === a ? { function: "work", file: "w.c", line: 3 } : i === d ? { function: "work", file: "w.c", line: 7 } : f,
  );
  const t = treeOf({ ...seen, frames });
  const whole = transform(t, PLAIN);
  assert.deepEqual(values(whole), { "main;work": 3, "main;b;c": 3 });
  assert.equal(whole.frames[whole.frame[node(whole, "work")] ?? 0]?.line, undefined);
  assert.equal(whole.frames[whole.frame[node(whole, "main")] ?? 0]?.line, 9);
  assert.deepEqual(values(transform(t, { ...PLAIN, group: "line" })), { "main:9;work:3": 1, "main:9;work:7": 2, "main:9;b;c": 3 });
});

test("bars stand side by side and inside their callers", () => {
  const t = treeOf(profile({ "main;a": 1, "main;b": 3 }));
  assert.equal(t.x[node(t, "b")], 0);
  assert.equal(t.x[node(t, "a")], 0.75);
  assert.equal(nodeUnder(t, 0.8, 2), node(t, "a"));
  assert.equal(nodeUnder(t, 0.8, 3), -1);
});

test("a place in the address finds its bar again", () => {
  const t = treeOf(profile({ "main;a;x": 1, "main;b;y": 3, "main;b;z": 2 }));
  for (let i = 0; i < t.n; i++) assert.equal(nodeAtPlace(t, placeOf(t, i)), i);
  assert.equal(nodeAtPlace(t, "9.9"), 0);
  assert.equal(nodeAtPlace(t, "nonsense"), 0);
});

test("an answer whose nodes point forward does not hang the page", () => {
  const p = profile({ "a;b": 1 });
  p.nodes = [[0, -1, 0], [2, 0, 1], [1, 1, 1]];
  assert.equal(treeOf(p).total[0], 2);
});

test("a difference keeps both sides and what only one has", () => {
  const t = diffOf(profile({ "main;a": 10, "main;old": 4 }), profile({ "main;a": 30, "main;new": 6 }), 2, 1);
  assert.equal(t.total[node(t, "a")], 20);
  assert.equal(t.otherTotal?.[node(t, "a")], 30);
  assert.equal(t.otherTotal?.[node(t, "old")], 0);
  assert.equal(t.total[node(t, "new")], 0);
  assert.equal(t.size[0], 28 + 36);
});

test("code without symbols is called after its library", () => {
  const p = profile({ "a;b": 1 });
  p.frames = [{ function: "", module: "/lib/libc.so.6", address: 0x891f4 }, { function: "" }];
  assert.deepEqual(stackOf(treeOf(p), 2), ["libc.so.6 (no symbols)", "(unknown)"]);
  assert.deepEqual(stackOf(diffOf(p, p), 2), ["libc.so.6 (no symbols)", "(unknown)"]);
});

test("search takes regular expressions, and text that is none", () => {
  const t = treeOf(profile({ "main;json.encode;json.write": 3, "main;sum": 1 }));
  const m = search(t, "^json");
  assert.equal(m?.nodes, 2);
  assert.equal(m?.share, 0.75);
  assert.equal(search(t, ""), undefined);
  assert.equal(search(t, "(")?.nodes, 0);
  assert.ok(patternOf("SUM").flags === "" && patternOf("sum").flags === "i");
});

test("looks change bars and never the sum", () => {
  const t = treeOf(profile({ "main;f;f;g": 2, "main;f;h;f": 3, "main;pkg.a;pkg.b": 4 }));
  for (const look of [{ ...PLAIN, collapse: true }, { ...PLAIN, hide: ["f"] }, { ...PLAIN, group: "package" as const }, { ...PLAIN, group: "file" as const }])
    assert.equal(transform(t, look).total[0], 9);
  assert.deepEqual(values(transform(t, { ...PLAIN, collapse: true })), { "main;f;g": 2, "main;f": 3, "main;pkg.a;pkg.b": 4 });
  assert.deepEqual(values(transform(t, { ...PLAIN, hide: ["f"] })), { "main;g": 2, "main;h": 3, "main;pkg.a;pkg.b": 4 });
  assert.equal(transform(t, PLAIN), t);
});

test("a sandwich counts recursion once", () => {
  const t = treeOf(profile({ "main;a;f;f;x": 2, "main;b;f": 3 }));
  const s = sandwich(t, "f");
  assert.equal(s.callers.total[0], 5);
  assert.equal(s.callees.total[0], 5);
  assert.equal(s.callees.total[node(s.callees, "x")], 2);
  assert.equal(s.callers.total[node(s.callers, "a")], 2);
});

test("the top table counts recursion once in totals", () => {
  const f = topRows(treeOf(profile({ "main;f;f": 2, "main;g": 1 }))).find((r) => r.name === "f");
  assert.equal(f?.total, 2);
  assert.equal(f?.self, 2);
});

test("packages are read off the names of every language", () => {
  assert.equal(packageOf({ function: "github.com/a/b.(*T).M" }), "github.com/a/b");
  assert.equal(packageOf({ function: "std::vec::push" }), "std::vec");
  assert.equal(packageOf({ function: "com.shop.Cart.total" }), "com.shop.Cart");
  assert.equal(packageOf({ function: "read", module: "/usr/lib/libc.so.6" }), "libc.so.6");
  assert.ok(isLibrary({ function: "read", module: "/usr/lib/libc.so.6" }));
  assert.ok(!isLibrary({ function: "total", file: "/home/me/shop/cart.py" }));
});

test("exports say the same and escape names", () => {
  const t = treeOf(profile({ "main;<b>&": 2 }));
  assert.equal(folded(t), "main;<b>& 2\n");
  assert.ok(svg(t, 0, false, "absolute").includes("&lt;b&gt;&amp;"));
  assert.ok(!svg(t, 0, false, "absolute").includes("<b>"));
});

test("what was cut comes last, and is filled in below the stack that was asked for", () => {
  const cut = profile({ "main;a;x": 5, "main;a;other": 6, "main;b": 7 });
  for (const f of cut.frames) if (f.function === "other") f.kind = "marker";
  const t = treeOf(cut);
  assert.equal(t.next[node(t, "x")], node(t, "other"));
  assert.ok(isCutBelow(t, node(t, "a")) && !isCutBelow(t, node(t, "b")));
  const whole = grafted(t, ["main", "a"], treeOf(profile({ "main;a;x": 5, "main;a;y": 4, "main;a;z": 2 })));
  assert.deepEqual(values(whole), { "main;b": 7, "main;a;x": 5, "main;a;y": 4, "main;a;z": 2 });
  assert.equal(whole.total[0], t.total[0]);
  assert.equal(placeOf(whole, node(whole, "x")), placeOf(t, node(t, "x")));
  assert.equal(nodeAtPlace(t, placeOf(whole, node(whole, "z"))), node(t, "a"), "a place that was cut leads to its caller");
  assert.deepEqual(values(grafted(t, [], treeOf(profile({ "main;c": 18 })))), { "main;c": 18 });
});

test("a difference is filled in on both sides", () => {
  const other = (v: number) => {
    const p = profile({ "main;other": v });
    for (const f of p.frames) if (f.function === "other") f.kind = "marker";
    return p;
  };
  const t = grafted(diffOf(other(3), other(5)), ["main"], diffOf(profile({ "main;a": 3 }), profile({ "main;b": 5 })));
  assert.deepEqual([t.total[0], t.otherTotal?.[0]], [3, 5]);
  assert.equal(t.otherTotal?.[node(t, "b")], 5);
});

test("per request divides each side by its own requests", () => {
  const t = scaled(diffOf(profile({ "main;a": 100 }), profile({ "main;a": 300 })), 1 / 10, 1 / 60);
  assert.deepEqual([t.total[node(t, "a")], t.otherTotal?.[node(t, "a")]], [10, 5]);
});

test("lanes have a thread each, boxes of what follows itself, and gaps where nothing was seen", () => {
  const p = profile({ "main;a": 3, "main;b": 1 });
  const [a, b] = [p.nodes.findIndex((n) => n[1] === 1), p.nodes.findIndex((n) => n[1] === 2)];
  const made = lanesOf(p, [[0, 0, 10, a, 0], [10, 0, 10, a, 0], [12, 5, 10, a, 1], [20, 0, 10, b, 0], [90, 0, 10, b, 0], [95, 0, 10, 99, 0]]);
  const boxes = (lane: number, row: number) => made.lanes[lane]?.rows[row]?.map((x) => [made.frames[x.frame]?.function, x.from, x.until, x.samples]);
  assert.deepEqual(made.lanes.map((l) => l.thread), [0, 1]);
  assert.deepEqual(boxes(0, 0), [["main", 0, 30, 3], ["main", 90, 95, 1]], "a pause ends a box; a sample ends where the next begins");
  assert.deepEqual(boxes(0, 1), [["a", 0, 20, 2], ["b", 20, 30, 1], ["b", 90, 95, 1]]);
  assert.deepEqual(boxes(1, 1), [["a", 12, 17, 1]], "a length of its own is kept");
  assert.equal(made.lanes[0]?.covered, 35);
  assert.equal(boxAt(made.lanes[0]?.rows[1], 20), 1);
  assert.equal(boxAt(made.lanes[0]?.rows[1], 50), -1);
  assert.equal(boxAt(undefined, 1), -1);
  const { shown, left } = turnsOf(made, 0, 100, 2);
  assert.deepEqual([shown.map((t) => [t.thread, t.from, t.until]), left], [[[0, 0, 20], [0, 20, 30]], 2]);
  assert.deepEqual(stretchIn("5-50", 40), { from: 5, until: 40 });
  for (const text of ["", "x", "50-5", "-1-3", "90-99"]) assert.deepEqual(stretchIn(text, 40), { from: 0, until: 40 }, text);
});

test("lanes, rows and boxes have a bound, and it is said", () => {
  const deep = profile({ [Array.from({ length: 200 }, (_, i) => `f${String(i)}`).join(";")]: 1 });
  const leaf = deep.nodes.length - 1;
  const many = lanesOf(deep, Array.from({ length: 9000 }, (_, i): Moment => [i * 100, 0, 10, leaf, i % 40]));
  assert.equal(many.lanes.length, 24);
  assert.equal(many.left, 16);
  assert.ok(many.isCut);
  assert.ok(many.lanes.every((l) => l.rows.length <= 64));
  assert.ok(many.lanes.reduce((n, l) => n + l.rows.reduce((m, r) => m + r.length, 0), 0) <= 200_000);
});

test("in order of time equal neighbours are one bar and others are not", () => {
  const p = profile({ "main;a": 3, "main;b": 1 });
  const [a, b] = [p.nodes.findIndex((n) => n[1] === 1), p.nodes.findIndex((n) => n[1] === 2)];
  const moments: Moment[] = [[0, 0, 1, a, 0], [10, 0, 1, a, 0], [15, 0, 9, a, 1], [20, 0, 1, b, 0], [30, 0, 1, a, 0]];
  const t = timedOf(p, moments, 0);
  const main = t.first[0] ?? 0;
  const row: [string, number][] = [];
  for (let c = t.first[main] ?? -1; c >= 0; c = t.next[c] ?? -1) row.push([nameOf(t, c), t.total[c] ?? 0]);
  assert.deepEqual(row, [["a", 2], ["b", 1], ["a", 1]]);
  assert.equal(timedOf(p, moments, 1).total[0], 9);
  assert.equal(transform(t, { ...PLAIN, hide: ["b"] }).total[0], 4);
  assert.equal(timedOf(p, [[0, 0, 1, 99, 0]], 0).total[0], 0, "a node that is not there is no sample");
});

test("a stretch of a span has its own samples, and its part of a wait", () => {
  const p = profile({ "main;a": 3, "main;wait": 100 });
  const [a, w] = [p.nodes.findIndex((n) => n[1] === 1), p.nodes.findIndex((n) => n[1] === 2)];
  const part = profileWithin(p, [[5, 0, 1, a, 0], [10, 0, 1, a, 0], [20, 0, 1, a, 0], [0, 100, 100, w, 0]], 10, 20);
  assert.equal(part.samples, 2);
  assert.deepEqual(values(treeOf(part)), { "main;a": 1, "main;wait": 10 });
});

test("focus keeps the stacks through a function", () => {
  assert.deepEqual(values(through(treeOf(profile({ "main;a;x": 1, "main;b;x": 2, "main;b": 4 })), "a")), { "main;a;x": 1 });
  assert.deepEqual(values(through(treeOf(profile({ "main;a;x": 1, "main;b;x": 2, "main;b": 4 })), "x")), { "main;a;x": 1, "main;b;x": 2 });
});

test("a graph's state is read from the address, and nonsense is none", () => {
  const s = stateOf({ v: "calls", h: "a\nb", d: "request", c: "1", n: "2", b: "duration", o: "0.1_2", x: "f" });
  assert.deepEqual([s.mode, s.look.hide, s.diffBy, s.isTimed, s.thread, s.base, s.turned, s.focus], ["calls", ["a", "b"], "request", true, 2, "duration", "0.1_2", "f"]);
  const none = stateOf({ v: "x", g: "y", f: "z", d: "w", n: "-" });
  assert.deepEqual([none.mode, none.look, none.diffBy, none.thread], ["graph", PLAIN, undefined, 0]);
});

test("every figure of an estimate is marked, whatever is made of its tree", () => {
  const known = profile({ "main;a": 1e6, "main;b": 3e6 });
  const shared = { ...known, unit: "nanoseconds", isEstimate: true };
  const t = treeOf(shared);
  const trees = [t, transform(t, { ...PLAIN, collapse: true }), through(t, "b"), sandwich(t, "b").callers, sandwich(t, "b").callees, grafted(t, ["main"], t), scaled(t, 2, 2), diffOf(known, shared), diffOf(shared, known), timedOf(shared, [[0, 1, 5, 1, 0]], 0)];
  for (const made of trees) assert.equal(made.measure.isEstimate, true);
  assert.equal(diffOf(known, known).measure.isEstimate, false);
  assert.equal(amount(3e6, t.measure), "~3 ms");
  assert.equal(share(0.75, t.measure), "~75 %");
  assert.ok(svg(t, 0, false, "absolute").includes("<title>b: ~3 ms</title>"));
  assert.ok(svg(t, 0, false, "absolute").includes(">all (~ estimate)<"));
  assert.deepEqual(folded(t).trim().split("\n").sort(), ["~ estimate;main;a 1000000", "~ estimate;main;b 3000000"]);
  assert.deepEqual(folded(treeOf(known)).trim().split("\n").sort(), ["main;a 1000000", "main;b 3000000"]);
  assert.equal(nameOf(treeOf(known), 0), "all");
});

test("samples that are too few for times are counted", () => {
  const few = measureOf({ unit: "nanoseconds", total: 4e6, isFew: true, looks: 4 });
  assert.equal(amount(3e6, few), "3 samples");
  assert.equal(amount(1e6, few), "1 sample");
  assert.equal(amount(3e6, { ...few, isEstimate: true }), "~3 samples");
  assert.equal(amount(3e6, measureOf({ unit: "nanoseconds", total: 4e6 })), "3 ms");
});

test("lines of a function have their cost, once for each stack", () => {
  const p = profile({ "main;a;b": 3, "main;a;a;b": 2, "main;a": 1 });
  const a = p.frames.findIndex((f) => f.function === "a");
  const lined = { ...p, frames: p.frames.map((f, i) => (i === a ? { ...f, file: "/src/a.c", line: 7 } : f)) };
  assert.deepEqual(linesOf([{ profile: lined, scale: 2 }], "a"), [{ file: "/src/a.c", line: 7, self: 2, total: 12 }]);
  assert.deepEqual(linesOf([{ profile: lined, scale: 1 }], "b"), []);
});

test("links keep to their host, whatever is put into them", () => {
  const put = { file: "/../src/a b.c?x#y", line: "7", function: "{line}<a>", traceId: "1" };
  assert.equal(filled("https://git.example/x/{file}#L{line}", put), "https://git.example/x//src/a%20b.c%3Fx%23y#L7");
  assert.equal(filled("https://git.example/?q={function}", put), "https://git.example/?q=%7Bline%7D%3Ca%3E");
  for (const wrong of ["javascript:alert({line})", "//git.example/{file}", "https://{file}/", "", "data:text/html,{file}"]) assert.equal(filled(wrong, put), "");
});

test("shares are of a base that is named, the first one unless another was chosen", () => {
  const duration = { name: "duration", words: "the span's duration", value: 500, isMeasured: true };
  assert.deepEqual(basesOf([duration], "what is shown", 25).map((b) => b.name), ["duration", "view"]);
  assert.deepEqual(basesOf([duration], "what is shown", 500).map((b) => b.name), ["duration"], "the same twice is one");
  assert.deepEqual(basesOf([], "all", 7), [{ name: "view", words: "all", value: 7 }]);
  const few = measureOf({ unit: "nanoseconds", total: 20e6, isFew: true, looks: 2 });
  assert.equal(baseAmount({ name: "duration", words: "", value: 500e6, isMeasured: true }, few), "500 ms");
  assert.equal(baseAmount({ name: "cpu", words: "", value: 20e6 }, few), "2 samples");
});

/** A message of protobuf: numbers and bytes by field. */
function fieldsOf(bytes: Uint8Array): { field: number; n: bigint; bytes: Uint8Array }[] {
  const out: { field: number; n: bigint; bytes: Uint8Array }[] = [];
  let at = 0;
  const varint = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = bytes[at++] ?? 0;
      n |= BigInt(b & 127) << shift;
      if (b < 128) return n;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const n = varint();
    const isBytes = (key & 7n) === 2n;
    out.push({ field: Number(key >> 3n), n, bytes: isBytes ? bytes.subarray(at, (at += Number(n))) : new Uint8Array() });
  }
  return out;
}
function packed(bytes: Uint8Array): number[] {
  const out: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = bytes[at++] ?? 0;
      n |= BigInt(b & 127) << shift;
      if (b < 128) break;
    }
    out.push(Number(BigInt.asIntN(64, n)));
  }
  return out;
}

test("pprof of a difference has both sides and what the second has more", () => {
  const t = diffOf(profile({ "main;a": 4, "main;ü": 3 }), profile({ "main;a": 1, "main;b": 300 }));
  const all = fieldsOf(pprof(t));
  const strings = all.filter((f) => f.field === 6).map((f) => new TextDecoder().decode(f.bytes));
  const text = (n: bigint | undefined) => strings[Number(n ?? 0n)];
  assert.equal(strings[0], "");
  assert.deepEqual(all.filter((f) => f.field === 1).map((f) => fieldsOf(f.bytes).map((x) => text(x.n))), [["baseline", "nanoseconds"], ["comparison", "nanoseconds"], ["difference", "nanoseconds"]]);
  const names = new Map(all.filter((f) => f.field === 5).map((f) => [Number(fieldsOf(f.bytes)[0]?.n), text(fieldsOf(f.bytes)[1]?.n)]));
  const stacks = all.filter((f) => f.field === 2).map((f) => {
    const [where, values] = fieldsOf(f.bytes);
    return `${packed(where?.bytes ?? new Uint8Array()).map((id) => names.get(id)).join("<")} ${packed(values?.bytes ?? new Uint8Array()).join(",")}`;
  });
  assert.deepEqual(stacks.sort(), ["a<main 4,1,-3", "b<main 0,300,300", "ü<main 3,0,-3"]);
});

test("speedscope of a difference has a profile for each side, of one graph one", () => {
  const t = diffOf(profile({ "main;a": 4 }), profile({ "main;a": 1, "main;b": 3 }));
  const file = JSON.parse(speedscope(t)) as { shared: { frames: { name: string }[] }; profiles: { name: string; unit: string; endValue: number; samples: number[][]; weights: number[] }[] };
  const told = file.profiles.map((p) => [p.name, p.unit, p.endValue, Object.fromEntries(p.samples.map((s, i) => [s.map((f) => file.shared.frames[f]?.name).join(";"), p.weights[i]]))]);
  assert.deepEqual(told, [["baseline", "nanoseconds", 4, { "main;a": 4 }], ["comparison", "nanoseconds", 4, { "main;a": 1, "main;b": 3 }]]);
  assert.deepEqual((JSON.parse(speedscope(treeOf(profile({ x: 2 }, "bytes")))) as typeof file).profiles.map((p) => [p.name, p.unit]), [["profile", "bytes"]]);
});
