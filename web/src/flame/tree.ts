// A flame graph in memory: nodes in arrays, parents before children, children in drawing order.

import type { Frame, Profile } from "../api/types";

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
  /** What a bar's width stands for: total, or the sum of both sides */
  readonly size: Float64Array;
  readonly first: Int32Array;
  readonly next: Int32Array;
  /** Left edge, 0 to 1 */
  readonly x: Float64Array;
  readonly maxDepth: number;
  readonly unit: string;
}

/** Code without symbols is called by where it lies, as the server's own texts do: "libc.so.6!0x891f4". */
export function named(f: Frame): Frame {
  if (f.function !== "") return f;
  const module = f.module ?? "";
  const place = f.address === undefined ? "" : `0x${f.address.toString(16)}`;
  const name = [module.slice(module.lastIndexOf("/") + 1), place].filter((s) => s !== "").join("!");
  return { ...f, function: name === "" ? "(unknown)" : name };
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
      at = this.parent.length;
      this.parent.push(parent);
      this.frame.push(frame);
      this.self.push(0);
      this.other.push(0);
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

  add(node: number, self: number, other = 0): void {
    this.self[node] = (this.self[node] ?? 0) + self;
    this.other[node] = (this.other[node] ?? 0) + other;
  }

  finish(unit: string, isDiff: boolean): Tree {
    return arrange(this.frames, Int32Array.from(this.parent), Int32Array.from(this.frame), Float64Array.from(this.self), isDiff ? Float64Array.from(this.other) : undefined, unit);
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

function arrange(frames: readonly Frame[], parent: Int32Array, frame: Int32Array, self: Float64Array, otherSelf: Float64Array | undefined, unit: string): Tree {
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
  // The heaviest child first; ties by name, so that two loads look the same.
  const first = new Int32Array(n).fill(-1);
  const next = new Int32Array(n).fill(-1);
  const order = Array.from({ length: n - 1 }, (_, i) => i + 1);
  const name = (i: number) => frames[frame[i] ?? 0]?.function ?? "";
  order.sort((a, b) => (size[a] ?? 0) - (size[b] ?? 0) || (name(a) < name(b) ? 1 : -1));
  for (const i of order) {
    const p = parent[i] ?? 0;
    next[i] = first[p] ?? -1;
    first[p] = i;
  }
  return { frames, n, parent, frame, depth, self, total, otherSelf, otherTotal, size, first, next, x: edges(n, first, next, size), maxDepth, unit };
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
    // A node never stands before its parent; an answer that says so is broken, and must not hang the page.
    parent[i] = up < i ? up : 0;
    frame[i] = f;
    self[i] = v;
  });
  return arrange(p.frames.map(named), parent, frame, self, undefined, p.unit);
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
  return b.finish(left.unit || right.unit, true);
}

export function nameOf(t: Tree, node: number): string {
  const f = t.frame[node] ?? -1;
  return f < 0 ? "all" : (t.frames[f]?.function ?? "");
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

export function nodeAtPlace(t: Tree, place: string): number {
  let node = 0;
  if (place === "") return 0;
  for (const part of place.split(".")) {
    if (!/^\d{1,7}$/.test(part)) return 0;
    let c = t.first[node] ?? -1;
    for (let k = Number(part); k > 0 && c >= 0; k--) c = t.next[c] ?? -1;
    if (c < 0) return 0;
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
