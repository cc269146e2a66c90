import * as assert from "node:assert/strict";
import { test } from "node:test";
import { folded, svg } from "../src/flame/export";
import { profileOf } from "../src/flame/levels";
import { patternOf, search, widest } from "../src/flame/search";
import { isLibrary, packageOf, PLAIN, sandwich, topRows, transform } from "../src/flame/transform";
import { diffOf, nameOf, nodeAtPlace, nodeUnder, placeOf, stackOf, treeOf, type Tree } from "../src/flame/tree";
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

test("code without symbols is called by where it lies", () => {
  const p = profile({ "a;b": 1 });
  p.frames = [{ function: "", module: "/lib/libc.so.6", address: 0x891f4 }, { function: "" }];
  assert.deepEqual(stackOf(treeOf(p), 2), ["libc.so.6!0x891f4", "(unknown)"]);
  assert.deepEqual(stackOf(diffOf(p, p), 2), ["libc.so.6!0x891f4", "(unknown)"]);
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

test("pyroscope's levels become the same tree", () => {
  const t = treeOf(profileOf({ names: ["total", "main", "a", "b", "c"], total: "10", levels: [{ values: ["0", "10", "0", "0"] }, { values: ["0", "10", "1", "1"] }, { values: ["0", "4", "0", "2", "2", "3", "3", "3"] }, { values: ["0", "4", "4", "4"] }] }, "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "s"));
  assert.deepEqual(values(t), { main: 1, "main;a;c": 4, "main;b": 3 });
  assert.equal(t.unit, "nanoseconds");
});
