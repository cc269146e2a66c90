// What the bar of a running demo makes of settings and alerts.
import * as assert from "node:assert/strict";
import { test } from "node:test";
import { demoOf, noticeOf, runRange, shortened, toggled, wishOf, type Demo, type FiredAlert } from "../src/shell/demo_state";

const NOW = 1_700_000_000_000;
const STATE = {
  commit: "abc123",
  doing: "",
  refused: "",
  switched: "lock",
  worse: true,
  switchedAt: NOW - 20e3,
  wishAt: 5,
  problems: [
    { name: "lock", what: "a lock", cost: "12 of 24 ms", service: "inventory", cause: "reserveStock", on: true },
    { name: "json", what: "rules", cost: "4 ms", service: "order-service", cause: "jsonParse", on: false },
  ],
};
const setting = (value: string, modifiedAt = NOW) => [{ name: "other", value: "x" }, { name: "spanflame.demo", value, modifiedAt: String(modifiedAt) }];
const demo = (some: object = {}): Demo => demoOf(setting(JSON.stringify({ ...STATE, ...some })), NOW) as Demo;
const alert = (alertname: string, secondsAgo: number, more: object = {}, why = ""): FiredAlert => ({
  labels: { alertname, ...more },
  annotations: { why, page: "view=findings&service=x" },
  state: "firing",
  activeAt: new Date(NOW - secondsAgo * 1e3).toISOString(),
});

test("a demo is there while its setting is fresh and whole", () => {
  assert.equal(demo().problems.length, 2);
  assert.equal(demoOf(undefined, NOW), undefined);
  assert.equal(demoOf(setting(JSON.stringify(STATE), NOW - 61e3), NOW), undefined);
  assert.equal(demoOf(setting("{"), NOW), undefined);
  assert.equal(demoOf(setting("null"), NOW), undefined);
  assert.equal(demoOf(setting('{"problems":7}'), NOW), undefined);
  const odd = demoOf(setting('{"problems":[1,null,{"name":5},{"name":"a","on":"yes"}],"switchedAt":"x","commit":{}}'), NOW);
  assert.deepEqual([odd?.problems.map((p) => [p.name, p.on]), odd?.switchedAt, odd?.commit], [[["a", false]], 0, ""]);
});

test("an address without a range shows the demo's run", () => {
  const started = { startedAt: NOW - 90e3 };
  assert.deepEqual(runRange(demo(started), {}, NOW), { from: String(NOW - 90e3), until: "now" });
  assert.equal(runRange(demo(started), { from: "now-5m" }, NOW), undefined);
  assert.equal(runRange(demo(started), { until: "now" }, NOW), undefined);
  assert.equal(runRange(demo({ startedAt: NOW - 3600e3 }), {}, NOW), undefined, "an hour is shown anyway");
  assert.equal(runRange(demo({ startedAt: NOW + 5e3 }), {}, NOW), undefined, "a start that is to come is none");
  assert.equal(runRange(demo(), {}, NOW), undefined, "an older demo says none");
});

test("a wish is all that is to be so", () => {
  assert.deepEqual(wishOf(demo()), { commit: "abc123", off: ["json"] });
  assert.deepEqual(toggled(wishOf(demo()), "lock").off, ["json", "lock"]);
  assert.deepEqual(toggled(wishOf(demo()), "json").off, []);
});

test("only an alert about the switch is what was noticed of it", () => {
  const about = alert("stock", 12, { subject: "reserveStock" }, "reserveStock waits");
  const other = alert("totals", 3, { subject: "x" });
  assert.deepEqual(noticeOf(demo(), [other, about], []), { kind: "noticed", sentence: "reserveStock waits", page: "view=findings&service=x", seconds: 8 });
  assert.equal(noticeOf(demo(), [other], []).kind, "waiting");
  assert.equal(noticeOf(demo(), [alert("lock", 30, {}, "in reserveStock")], []).kind, "already");
  assert.equal(noticeOf(demo(), [], []).kind, "waiting");
  assert.equal(noticeOf(demo({ switchedAt: 0 }), [about], []).kind, "nothing");
  // The function of the bad commit is named before it is deployed; the deploy is known by its own rule.
  const deployed = demo({ switched: "def456", commit: "def456" });
  assert.equal(noticeOf(deployed, [alert("totals", 60, { subject: "evaluateRules" })], []).kind, "waiting");
  assert.equal(noticeOf(deployed, [alert("deploy", 9)], []).seconds, 11);
});

test("what was switched off is over when its alert is", () => {
  const off = demo({ worse: false });
  const past = (secondsAgo: number | null, subject: string) => ({ labels: { subject }, why: "w", resolvedAt: secondsAgo === null ? null : new Date(NOW - secondsAgo * 1e3).toISOString() });
  assert.equal(noticeOf(off, [alert("stock", 90, { subject: "reserveStock" })], []).kind, "still");
  assert.deepEqual(noticeOf(off, [], [past(2, "other"), past(null, "reserveStock"), past(5, "reserveStock")]), { kind: "over", sentence: "w", page: "", seconds: 15 });
  assert.equal(noticeOf(off, [], [past(25, "reserveStock")]).seconds, -1);
});

test("a finding is said without the way to its function", () => {
  assert.equal(shortened("f takes 30 % of the CPU time of s in pattern matching, in ... > a > b > f: cache the result"), "f takes 30 % of the CPU time of s in pattern matching: cache the result");
  assert.equal(shortened("3.9 ms, mean of 9 spans: x"), "3.9 ms, mean of 9 spans: x");
});
