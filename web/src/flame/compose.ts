// A span's whole duration as one graph: what ran as bars, what waited as hatched bars on the function that waited, child
// spans and what nobody knows beside them.

import type { ExplainPart, Profile } from "../api/types";
import { measureOf } from "../format/units";
import { Builder, named, type Tree } from "./tree";

/** One part with the stacks it was spent in; none: nothing is known of where. */
export interface PartStacks {
  readonly part: ExplainPart;
  readonly profile: Profile | undefined;
}

const RUNS = new Set(["on_cpu", "cpu"]);
const BESIDE = new Set(["child", "remote", "unknown"]);

function add(b: Builder, p: PartStacks): void {
  const { part, profile } = p;
  const isWait = !RUNS.has(part.part) && !BESIDE.has(part.part);
  const own = isWait ? b.frameOf({ function: part.words, kind: `wait ${part.part}` }) : -1;
  if (!profile || profile.total <= 0) {
    const kind = RUNS.has(part.part) ? "running" : isWait ? `wait ${part.part}` : "span";
    b.add(b.child(0, b.frameOf({ function: part.words, kind })), part.ns);
    return;
  }
  // The profile of a part comes to the part's figure; what rounding left is said by nobody.
  const scale = part.ns / profile.total;
  const frames = profile.frames.map((f) => b.frameOf(named(f)));
  const map = new Int32Array(profile.nodes.length);
  profile.nodes.forEach(([up, f, v], i) => {
    if (i > 0) map[i] = b.child(map[up] ?? 0, frames[f] ?? 0);
    if (v === 0) return;
    const at = map[i] ?? 0;
    b.add(isWait ? b.child(at, own) : at, v * scale);
  });
}

/** `parts` come to the duration. */
export function composed(parts: readonly PartStacks[], isEstimate: boolean): Tree {
  const b = new Builder();
  for (const p of parts) if (p.part.ns > 0) add(b, p);
  return b.finish(measureOf({ unit: "nanoseconds", total: 0, isEstimate }), false);
}

/** Frames from the root to the first fork are what starts a thread, and say nothing about the request: without them, but
 * for the last two. `rows`: how many were left out. */
export function withoutStart(t: Tree): { tree: Tree; rows: number } {
  let node = 0;
  let found = 0;
  for (;;) {
    const only = t.first[node] ?? -1;
    if (only < 0 || (t.self[node] ?? 0) > 0 || (t.next[only] ?? -1) >= 0 || (t.first[only] ?? -1) < 0) break;
    node = only;
    found++;
  }
  const rows = Math.max(0, found - 2);
  if (rows < 2) return { tree: t, rows: 0 };
  const b = new Builder();
  const frames = t.frames.map((f) => b.frameOf(f));
  const to = new Int32Array(t.n);
  for (let i = 1; i < t.n; i++) {
    if ((t.depth[i] ?? 0) <= rows) continue;
    to[i] = b.child(to[t.parent[i] ?? 0] ?? 0, frames[t.frame[i] ?? 0] ?? 0);
    b.add(to[i] ?? 0, t.self[i] ?? 0, t.otherSelf?.[i] ?? 0);
  }
  return { tree: b.finish(t.measure, t.otherSelf !== undefined), rows };
}
