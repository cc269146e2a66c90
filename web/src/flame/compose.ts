// A span's whole duration as one graph: what ran as bars, what waited as hatched bars on the function that waited, child
// spans and what it is not known beside them.

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
  // The profile of a part comes to the part's figure; what rounding left is stated by nobody.
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
  const sources = parts.flatMap(({ part, profile }) => (profile && profile.total > 0 && part.ns > 0 ? [{ profile, scale: part.ns / profile.total }] : []));
  return { ...b.finish(measureOf({ unit: "nanoseconds", total: 0, isEstimate }), false), sources };
}

/** What the time below a bar of such a graph was: what ran, waits by kind, child spans, unknown. Undefined: no bar of the graph waits. */
export function partsBelow(t: Tree, node: number): { part: string; words: string; ns: number }[] | undefined {
  if (t.measure.unit !== "nanoseconds" || t.otherTotal || !t.frames.some((f) => f.kind?.startsWith("wait ") === true)) return undefined;
  const out = new Map<string, { part: string; words: string; ns: number }>();
  const todo = [node];
  for (let n = todo.pop(); n !== undefined; n = todo.pop()) {
    const ns = t.self[n] ?? 0;
    const frame = t.frames[t.frame[n] ?? -1];
    const kind = frame?.kind ?? "";
    const isWait = kind.startsWith("wait ");
    const part = isWait ? kind.slice(5) : kind !== "span" ? "on_cpu" : frame?.function === "unknown" ? "unknown" : "child";
    const words = isWait || kind === "span" ? (frame?.function ?? "") : "running";
    if (ns > 0) out.set(part, { part, words, ns: ns + (out.get(part)?.ns ?? 0) });
    for (let c = t.first[n] ?? -1; c >= 0; c = t.next[c] ?? -1) todo.push(c);
  }
  return [...out.values()];
}

const ALL_OF = 0.97;

/** Frames from the root to the first fork are what starts a thread, and say nothing about the request: without them, but
 * for the last two. `rows`: how many were left out. */
export function withoutStart(t: Tree): { tree: Tree; rows: number } {
  const isCode = (n: number) => !/^(wait |running$|span$|service$|marker$)/.test(t.frames[t.frame[n] ?? -1]?.kind ?? "");
  const childrenOf = (n: number) => {
    const out: number[] = [];
    for (let c = t.first[n] ?? -1; c >= 0 && out.length < 64; c = t.next[c] ?? -1) out.push(c);
    return out;
  };
  // Beside the root's one stack there may be waits and child spans that nobody has a stack for.
  const chain: number[] = [];
  const tops = childrenOf(0).filter(isCode);
  const code = tops.reduce((n, c) => n + (t.size[c] ?? 0), 0);
  const top = tops[0] ?? -1;
  for (let node = tops.length === 1 || (t.size[top] ?? 0) >= ALL_OF * code ? top : -1; node > 0; ) {
    const below = childrenOf(node);
    const only = below[0];
    // Beside the way to the work there may be slivers: what a thread does before its first request.
    if (only === undefined || (t.size[only] ?? 0) < ALL_OF * (t.size[node] ?? 0) || !isCode(only)) break;
    chain.push(node);
    node = only;
  }
  const rows = Math.max(0, chain.length - 1);
  if (rows < 2) return { tree: t, rows: 0 };
  const left = new Set(chain.slice(0, rows));
  const b = new Builder();
  const frames = t.frames.map((f) => b.frameOf(f));
  const to = new Int32Array(t.n);
  for (let i = 1; i < t.n; i++) {
    const up = to[t.parent[i] ?? 0] ?? 0;
    to[i] = left.has(i) ? up : b.child(up, frames[t.frame[i] ?? 0] ?? 0);
    if (!left.has(i)) b.add(to[i] ?? 0, t.self[i] ?? 0, t.otherSelf?.[i] ?? 0);
  }
  return { tree: b.finish(t.measure, t.otherSelf !== undefined), rows };
}
