// One tree from another: grouped, folded, turned round. The sum never changes, but for the sandwich, which examines one
// function.

import type { Frame } from "../api/types";
import { Builder, frameKey, nameOf, type Tree } from "./tree";

export type Group = "function" | "line" | "package" | "file";
export type Fold = "" | "kernel" | "library";

export interface Look {
  readonly group: Group;
  readonly fold: Fold;
  readonly collapse: boolean;
  /** Functions whose bars are given to their callers */
  readonly hide: readonly string[];
}

export const PLAIN: Look = { group: "function", fold: "", collapse: false, hide: [] };

export function isKernel(f: Frame): boolean {
  return f.kind === "kernel" || /^\[?(vmlinux|kernel)\b/.test(f.module ?? "");
}

const LIBRARY = /(^|\/)(usr\/(local\/)?(lib|include|share)|lib(64)?|node_modules|site-packages|dist-packages|vendor|pkg\/mod|go\/src|gems|\.cargo\/registry|rustc)\//;
const LIBRARY_NAME = /^(java|javax|jdk|sun|kotlin|scala|runtime|reflect|std|core|alloc|__libc|_Py|Py[A-Z]|node:|libc)[.:_]/;

export function isLibrary(f: Frame): boolean {
  const place = `${f.file ?? ""} ${f.module ?? ""}`;
  return LIBRARY.test(place) || /\.so(\.|$| )/.test(place) || LIBRARY_NAME.test(f.function) || isKernel(f);
}

/** The package, namespace or module a function belongs to. */
export function packageOf(f: Frame): string {
  if (f.kind === "service" || f.kind === "span") return f.kind;
  const name = f.function;
  const slash = name.lastIndexOf("/");
  if (slash >= 0) {
    const dot = name.indexOf(".", slash);
    return dot > 0 ? name.slice(0, dot) : name;
  }
  const colons = name.lastIndexOf("::");
  if (colons > 0) return name.slice(0, colons);
  const dot = name.lastIndexOf(".");
  if (dot > 0) return name.slice(0, dot);
  if (f.module) return f.module.slice(f.module.lastIndexOf("/") + 1);
  if (f.file) return fileOf(f);
  return isKernel(f) ? "kernel" : "";
}

function fileOf(f: Frame): string {
  return f.file ?? f.module ?? "(no file)";
}

function grouped(f: Frame, look: Look): Frame {
  if (f.kind === "service" || f.kind === "span" || f.kind === "running" || f.kind?.startsWith("wait ") === true) return f;
  if (look.fold === "kernel" && isKernel(f)) return { function: "[kernel]", kind: "kernel" };
  if (look.fold === "library" && isLibrary(f)) return { function: "[library code]" };
  if (look.group === "package") return { function: packageOf(f) || "(no package)" };
  if (look.group === "file") return { function: fileOf(f) };
  if (look.group === "line" && f.line) return { ...f, function: `${f.function}:${String(f.line)}` };
  return f;
}

/** Functions that were seen in several lines are one, and in none of them. */
function inNoLine(frames: readonly Frame[]): readonly Frame[] {
  const seen = new Map<string, number>();
  for (const f of frames) seen.set(frameKey(f), (seen.get(frameKey(f)) ?? 0) + 1);
  if (seen.size === frames.length) return frames;
  return frames.map((f) => {
    if (seen.get(frameKey(f)) === 1) return f;
    const rest = { ...f };
    delete rest.line;
    return rest;
  });
}

export function transform(t: Tree, look: Look): Tree {
  return transformed(t, look).tree;
}

/** `to`: where each node of the old tree went; none when nothing changed. */
export function transformed(t: Tree, look: Look): { tree: Tree; to: Int32Array | undefined } {
  const whole = look.group === "line" ? t.frames : inNoLine(t.frames);
  if (look.group === "function" && look.fold === "" && !look.collapse && look.hide.length === 0 && whole === t.frames) return { tree: t, to: undefined };
  const b = new Builder();
  const hidden = new Set(look.hide);
  const frames = whole.map((f) => b.frameOf(grouped(f, look)));
  const merges = look.group === "package" || look.group === "file" || look.fold !== "";
  const to = new Int32Array(t.n);
  for (let i = 1; i < t.n; i++) {
    const up = to[t.parent[i] ?? 0] ?? 0;
    const f = frames[t.frame[i] ?? 0] ?? 0;
    to[i] = hidden.has(nameOf(t, i)) ? up : place(b, up, f, look.collapse, merges, t.isTimed);
  }
  for (let i = 0; i < t.n; i++) b.add(to[i] ?? 0, t.self[i] ?? 0, t.otherSelf?.[i] ?? 0);
  return { tree: b.finish(t.measure, t.otherSelf !== undefined, t.isTimed), to };
}

/** Only stacks that pass through a function of that name. */
export function through(t: Tree, name: string): Tree {
  const b = new Builder();
  const inside = new Uint8Array(t.n);
  const to = new Int32Array(t.n);
  const leads = new Uint8Array(t.n);
  for (let i = 1; i < t.n; i++) inside[i] = inside[t.parent[i] ?? 0] === 1 || nameOf(t, i) === name ? 1 : 0;
  for (let i = t.n - 1; i > 0; i--) if (inside[i] === 1 || leads[i] === 1) leads[t.parent[i] ?? 0] = 1;
  for (let i = 1; i < t.n; i++) {
    const f = t.frames[t.frame[i] ?? 0];
    if (!f || (inside[i] !== 1 && leads[i] !== 1)) continue;
    const up = to[t.parent[i] ?? 0] ?? 0;
    to[i] = t.isTimed ? b.following(up, b.frameOf(f)) : b.child(up, b.frameOf(f));
    if (inside[i] === 1) b.add(to[i] ?? 0, t.self[i] ?? 0, t.otherSelf?.[i] ?? 0);
  }
  return b.finish(t.measure, t.otherSelf !== undefined, t.isTimed);
}

function place(b: Builder, up: number, frame: number, collapse: boolean, merges: boolean, isTimed: boolean): number {
  if (merges && b.frameAtNode(up) === frame) return up;
  if (collapse) for (let i = up; i > 0; i = b.parentOf(i)) if (b.frameAtNode(i) === frame) return i;
  return isTimed ? b.following(up, frame) : b.child(up, frame);
}

/** Who calls a function, and what it calls: two trees with the function at their root's only child. */
export function sandwich(t: Tree, name: string): { callers: Tree; callees: Tree } {
  const up = new Builder();
  const down = new Builder();
  // Inside a match: the node of `down` it became; recursion is counted at its outermost call.
  const inside = new Int32Array(t.n).fill(-1);
  for (let i = 1; i < t.n; i++) {
    const f = t.frames[t.frame[i] ?? 0];
    const above = inside[t.parent[i] ?? 0] ?? -1;
    if (!f || (above < 0 && f.function !== name)) continue;
    const node = down.child(above < 0 ? 0 : above, down.frameOf(f));
    inside[i] = node;
    down.add(node, t.self[i] ?? 0, t.otherSelf?.[i] ?? 0);
    if (above >= 0) continue;
    let at = 0;
    for (let c = i; c > 0; c = t.parent[c] ?? 0) {
      const caller = t.frames[t.frame[c] ?? 0];
      if (caller) at = up.child(at, up.frameOf(caller));
    }
    up.add(at, t.total[i] ?? 0, t.otherTotal?.[i] ?? 0);
  }
  const isDiff = t.otherSelf !== undefined;
  return { callers: up.finish(t.measure, isDiff), callees: down.finish(t.measure, isDiff) };
}

export interface TopRow {
  readonly name: string;
  readonly frame: Frame;
  self: number;
  total: number;
  otherSelf: number;
  otherTotal: number;
}

/** By function; a recursive one's total is counted once. */
export function topRows(t: Tree): TopRow[] {
  const rows = new Map<string, TopRow>();
  for (let i = 1; i < t.n; i++) {
    const frame = t.frames[t.frame[i] ?? 0];
    if (!frame || frame.kind === "service" || frame.kind === "span") continue;
    let row = rows.get(frame.function);
    if (!row) {
      row = { name: frame.function, frame, self: 0, total: 0, otherSelf: 0, otherTotal: 0 };
      rows.set(frame.function, row);
    }
    row.self += t.self[i] ?? 0;
    row.otherSelf += t.otherSelf?.[i] ?? 0;
    if (!isBelow(t, i, frame.function)) {
      row.total += t.total[i] ?? 0;
      row.otherTotal += t.otherTotal?.[i] ?? 0;
    }
  }
  return [...rows.values()];
}

function isBelow(t: Tree, node: number, name: string): boolean {
  for (let i = t.parent[node] ?? 0; i > 0; i = t.parent[i] ?? 0) if (nameOf(t, i) === name) return true;
  return false;
}
