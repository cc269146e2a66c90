// A flame graph in memory: nodes in arrays, parents before children, children in drawing order.

import type { Frame, Profile } from "../api/types";
import { ESTIMATE, measureOf, type Measure } from "../format/units";

export interface Tree {
  readonly frames: readonly Frame[];
  readonly n: number;
  readonly parent: Int32Array;
  /** Index of its frame; -1 is the root */
  readonly frame: Int32Array;
  readonly depth: Int32Array;
  readonly self: Float64Array;
  readonly total: Float64Array;
  /** Of a difference: the right side; `self` and `total` are the left one */
  readonly otherSelf: Float64Array | undefined;
  readonly otherTotal: Float64Array | undefined;
  /** What a bar's width represents: total, or the sum of both sides */
  readonly size: Float64Array;
  readonly first: Int32Array;
  readonly next: Int32Array;
  /** Left edge, 0 to 1 */
  readonly x: Float64Array;
  readonly maxDepth: number;
  readonly measure: Measure;
  /** Children stand in the order of their samples in time, not the heaviest first */
  readonly isTimed: boolean;
  /** What it was made of, lines included; none: it was made of another tree */
  readonly sources?: readonly Source[];
}

/** A profile, and what its values are multiplied with. */
export interface Source {
  readonly profile: Profile;
  readonly scale: number;
}

/** Code without symbols is called as the server's own texts do: "libc.so.6 (no symbols)", or "0x891f4" without a library. */
export function named(f: Frame): Frame {
  if (f.function !== "") return f;
  const module = f.module?.slice(f.module.lastIndexOf("/") + 1) ?? "";
  const place = f.address === undefined ? "" : `0x${f.address.toString(16)}`;
  if (module !== "") return { ...f, function: `${module} (no symbols)` };
  return { ...f, function: place === "" ? "(unknown)" : place };
}

/** The bar that represents what was cut. */
export function isOther(f: Frame | undefined): boolean {
  return f?.kind === "marker" && f.function === "other";
}

export function frameKey(f: Frame): string {
  return `${f.function}\0${f.module ?? ""}\0${f.file ?? ""}\0${f.kind ?? ""}`;
}

/** Grows a tree; equal frames below the same node are one. */
export class Builder {
  private readonly frames: Frame[] = [];
  private readonly frameAt = new Map<string, number>();
  private readonly childAt = new Map<number, number>();
  private readonly parent: number[] = [0];
  private readonly frame: number[] = [-1];
  private readonly self: number[] = [0];
  private readonly other: number[] = [0];
  private readonly newest: number[] = [];

  frameOf(f: Frame): number {
    const key = frameKey(f);
    let at = this.frameAt.get(key);
    if (at === undefined) {
      at = this.frames.length;
      this.frames.push(f);
      this.frameAt.set(key, at);
    }
    return at;
  }

  child(parent: number, frame: number): number {
    const key = parent * 4194304 + frame;
    let at = this.childAt.get(key);
    if (at === undefined) {
      at = this.append(parent, frame);
      this.childAt.set(key, at);
    }
    return at;
  }

  parentOf(node: number): number {
    return this.parent[node] ?? 0;
  }

  frameAtNode(node: number): number {
    return this.frame[node] ?? -1;
  }

  /** A node of its own, whatever stands beside it. */
  append(parent: number, frame: number): number {
    this.parent.push(parent);
    this.frame.push(frame);
    this.self.push(0);
    this.other.push(0);
    this.newest[parent] = this.parent.length - 1;
    return this.parent.length - 1;
  }

  /** The newest child if it is that frame, else one more: for what is in order of time. */
  following(parent: number, frame: number): number {
    const at = this.newest[parent] ?? -1;
    return at >= 0 && this.frame[at] === frame ? at : this.append(parent, frame);
  }

  add(node: number, self: number, other = 0): void {
    this.self[node] = (this.self[node] ?? 0) + self;
    this.other[node] = (this.other[node] ?? 0) + other;
  }

  finish(measure: Measure, isDiff: boolean, isTimed = false): Tree {
    return arrange(this.frames, Int32Array.from(this.parent), Int32Array.from(this.frame), Float64Array.from(this.self), isDiff ? Float64Array.from(this.other) : undefined, measure, isTimed);
  }
}

function sums(parent: Int32Array, self: Float64Array): Float64Array {
  const total = Float64Array.from(self);
  for (let i = parent.length - 1; i > 0; i--) {
    const p = parent[i] ?? 0;
    total[p] = (total[p] ?? 0) + (total[i] ?? 0);
  }
  return total;
}

function arrange(frames: readonly Frame[], parent: Int32Array, frame: Int32Array, self: Float64Array, otherSelf: Float64Array | undefined, measure: Measure, isTimed = false): Tree {
  const n = parent.length;
  const total = sums(parent, self);
  const otherTotal = otherSelf && sums(parent, otherSelf);
  const size = otherTotal ? total.map((v, i) => Math.abs(v) + Math.abs(otherTotal[i] ?? 0)) : total;
  const depth = new Int32Array(n);
  let maxDepth = 0;
  for (let i = 1; i < n; i++) {
    const d = (depth[parent[i] ?? 0] ?? 0) + 1;
    depth[i] = d;
    if (d > maxDepth) maxDepth = d;
  }
  // The heaviest child first; ties by name, so that two loads look the same. What was cut comes last: a place in the
  // address then means the same before and after it is requested.
  const first = new Int32Array(n).fill(-1);
  const next = new Int32Array(n).fill(-1);
  const order = Array.from({ length: n - 1 }, (_, i) => i + 1);
  const name = (i: number) => frames[frame[i] ?? 0]?.function ?? "";
  const other = Uint8Array.from(frames, (f) => (isOther(f) ? 1 : 0));
  const rest = (i: number) => other[frame[i] ?? 0] ?? 0;
  if (isTimed) order.reverse();
  else order.sort((a, b) => rest(b) - rest(a) || (size[a] ?? 0) - (size[b] ?? 0) || (name(a) < name(b) ? 1 : -1));
  for (const i of order) {
    const p = parent[i] ?? 0;
    next[i] = first[p] ?? -1;
    first[p] = i;
  }
  return { frames, n, parent, frame, depth, self, total, otherSelf, otherTotal, size, first, next, x: edges(n, first, next, size), maxDepth, measure, isTimed };
}

function edges(n: number, first: Int32Array, next: Int32Array, size: Float64Array): Float64Array {
  const x = new Float64Array(n);
  const whole = size[0] ?? 0;
  const stack = [0];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    let at = x[node] ?? 0;
    for (let c = first[node] ?? -1; c >= 0; c = next[c] ?? -1) {
      x[c] = at;
      at += whole > 0 ? (size[c] ?? 0) / whole : 0;
      stack.push(c);
    }
  }
  return x;
}

export function treeOf(p: Profile): Tree {
  const n = p.nodes.length;
  const parent = new Int32Array(n);
  const frame = new Int32Array(n);
  const self = new Float64Array(n);
  p.nodes.forEach(([up, f, v], i) => {
    // A node never stands before its parent; an answer that reports it is broken, and must not hang the page.
    parent[i] = up < i ? up : 0;
    frame[i] = f;
    self[i] = v;
  });
  return { ...arrange(p.frames.map(named), parent, frame, self, undefined, measureOf(p)), sources: [{ profile: p, scale: 1 }] };
}

/** Two profiles over one another; the right one is `other`. `scale` makes them comparable (per request, say). */
export function diffOf(left: Profile, right: Profile, leftScale = 1, rightScale = 1): Tree {
  const b = new Builder();
  const put = (p: Profile, add: (node: number, v: number) => void) => {
    const map = new Int32Array(p.nodes.length);
    const frames = p.frames.map((f) => b.frameOf(named(f)));
    p.nodes.forEach(([up, f, v], i) => {
      const frame = frames[f];
      if (i > 0 && frame !== undefined) map[i] = b.child(map[up] ?? 0, frame);
      if (v !== 0) add(map[i] ?? 0, v);
    });
  };
  put(left, (node, v) => b.add(node, v * leftScale));
  put(right, (node, v) => b.add(node, 0, v * rightScale));
  // Marked when one side is; what is few of one side is not of the other.
  const isEstimate = left.isEstimate === true || right.isEstimate === true;
  return b.finish(measureOf({ unit: left.unit || right.unit, total: 0, isEstimate }), true);
}

/** The tree with both sides of a difference in other measures: per request, say. */
export function scaled(t: Tree, left: number, right: number): Tree {
  return arrange(t.frames, t.parent, t.frame, t.self.map((v) => v * left), t.otherSelf?.map((v) => v * right), t.measure);
}

/** Whether something below the node was cut. */
export function isCutBelow(t: Tree, node: number): boolean {
  const inside = new Uint8Array(t.n);
  inside[node] = 1;
  for (let i = node + 1; i < t.n; i++) {
    if (inside[t.parent[i] ?? 0] !== 1) continue;
    inside[i] = 1;
    if (isOther(t.frames[t.frame[i] ?? -1])) return true;
  }
  return false;
}

/** What is below the node of that stack is taken from `whole`, an answer about that stack alone. */
export function grafted(t: Tree, stack: readonly string[], whole: Tree): Tree {
  const b = new Builder();
  const copy = (from: Tree, keeps: (i: number, met: number) => boolean) => {
    const frames = from.frames.map((f) => b.frameOf(f));
    const to = new Int32Array(from.n);
    // How many names of the stack are met on the way to a node; -1: it stands elsewhere.
    const met = new Int32Array(from.n);
    for (let i = 0; i < from.n; i++) {
      const up = from.parent[i] ?? 0;
      const above = i === 0 ? 0 : (met[up] ?? -1);
      if (i > 0) met[i] = above < 0 || above >= stack.length ? above : nameOf(from, i) === stack[above] ? above + 1 : -1;
      const isBelow = i > 0 && above >= stack.length;
      if (i > 0) to[i] = keeps(i, met[i] ?? -1) || !isBelow ? b.child(to[up] ?? 0, frames[from.frame[i] ?? 0] ?? 0) : (to[up] ?? 0);
      if (keeps(i, met[i] ?? -1)) b.add(to[i] ?? 0, from.self[i] ?? 0, from.otherSelf?.[i] ?? 0);
    }
  };
  copy(t, (_, met) => met < stack.length);
  copy(whole, (_, met) => met >= stack.length);
  return b.finish(t.measure, t.otherSelf !== undefined);
}

/** One sample with a time: offset and length, value, its stack's node, its thread. */
export type Moment = readonly [start: number, length: number, value: number, node: number, thread: number];

/** Stacks side by side as time went; equal neighbours are one bar. */
export function timedOf(p: Profile, moments: readonly Moment[], thread: number): Tree {
  const b = new Builder();
  const frames = p.frames.map((f) => b.frameOf(named(f)));
  for (const [, , v, leaf, who] of moments) {
    if (who !== thread || leaf <= 0 || leaf >= p.nodes.length) continue;
    const path: number[] = [];
    for (let i = leaf; i > 0 && path.length <= p.nodes.length; i = p.nodes[i]?.[0] ?? 0) path.push(frames[p.nodes[i]?.[1] ?? 0] ?? 0);
    path.reverse();
    let node = 0;
    for (const frame of path) node = b.following(node, frame);
    b.add(node, v);
  }
  return b.finish(measureOf(p), false, true);
}

/** Only the samples of that time range. */
export function profileWithin(p: Profile, moments: readonly Moment[], from: number, until: number): Profile {
  const self = new Float64Array(p.nodes.length);
  let samples = 0;
  for (const [start, length, v, leaf] of moments) {
    if (start + length < from || start >= until || leaf <= 0 || leaf >= p.nodes.length) continue;
    // A wait that began before or continues after counts by the part inside.
    const share = length > 0 ? (Math.min(start + length, until) - Math.max(start, from)) / length : 1;
    self[leaf] = (self[leaf] ?? 0) + v * share;
    samples++;
  }
  const nodes = p.nodes.map(([up, f], i): [number, number, number] => [up, f, self[i] ?? 0]);
  return { ...p, nodes, samples, total: self.reduce((a, b) => a + b, 0) };
}

export function nameOf(t: Tree, node: number): string {
  const f = t.frame[node] ?? -1;
  return f >= 0 ? (t.frames[f]?.function ?? "") : t.measure.isEstimate ? `all (${ESTIMATE} estimate)` : "all";
}

/** From the root's child down to the node. */
export function stackOf(t: Tree, node: number): string[] {
  const out: string[] = [];
  for (let i = node; i > 0; i = t.parent[i] ?? 0) out.push(nameOf(t, i));
  return out.reverse();
}

/** Where a node stands, as numbers of children from the root: short, and the same for the same data. */
export function placeOf(t: Tree, node: number): string {
  const out: number[] = [];
  for (let i = node; i > 0; i = t.parent[i] ?? 0) {
    let k = 0;
    for (let c = t.first[t.parent[i] ?? 0] ?? -1; c >= 0 && c !== i; c = t.next[c] ?? -1) k++;
    out.push(k);
  }
  return out.reverse().join(".");
}

/** The bar of that place, or the lowest on the way to it that is there (the rest may have been cut). */
export function nodeAtPlace(t: Tree, place: string): number {
  let node = 0;
  for (const part of place.split(".")) {
    if (!/^\d{1,7}$/.test(part)) return node;
    let c = t.first[node] ?? -1;
    for (let k = Number(part); k > 0 && c >= 0; k--) c = t.next[c] ?? -1;
    if (c < 0 || isOther(t.frames[t.frame[c] ?? -1])) return node;
    node = c;
  }
  return node;
}

/** The node of that depth under a point; -1: none. `at` is 0 to 1. */
export function nodeUnder(t: Tree, at: number, depth: number): number {
  const whole = t.size[0] ?? 0;
  if (whole <= 0) return -1;
  let node = 0;
  for (let d = 0; d < depth; d++) {
    let found = -1;
    for (let c = t.first[node] ?? -1; c >= 0; c = t.next[c] ?? -1) {
      const x = t.x[c] ?? 0;
      if (at >= x && at < x + (t.size[c] ?? 0) / whole) {
        found = c;
        break;
      }
    }
    if (found < 0) return -1;
    node = found;
  }
  return node;
}
