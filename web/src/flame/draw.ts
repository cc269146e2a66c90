// Bars onto a canvas. Only what can be seen is visited: children are sorted by size, so the first that is too narrow
// ends its row. What is chosen or under the pointer is drawn apart, over them.

import { visible } from "../format/safe_text";
import { amount } from "../format/units";
import { paintOf, waitOf, type DiffBy } from "./colors";
import { hatchOf } from "./hatch";
import type { Matches } from "./search";
import { nameOf, type Tree } from "./tree";

export const ROW = 20;
const NARROW = 1;
const CHAR = 6.65;
const FONT = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export interface View {
  /** Zoomed: this node is as wide as the canvas */
  readonly node: number;
  readonly icicle: boolean;
  readonly width: number;
  readonly height: number;
  /** Of all rows */
  readonly contentHeight: number;
  readonly scroll: number;
  /** Rows at the root that are not drawn */
  readonly skip: number;
  readonly matches: Matches | undefined;
  /** The function that is chosen elsewhere; "": none */
  readonly picked: string;
  readonly diffBy: DiffBy;
  readonly back: string;
  readonly faded: string;
  readonly outline: string;
}

export interface Window {
  readonly left: number;
  readonly scale: number;
}

/** What part of the whole the canvas shows. */
export function windowOf(t: Tree, node: number, width: number): Window {
  const whole = t.size[0] ?? 0;
  const size = t.size[node] ?? 0;
  return { left: t.x[node] ?? 0, scale: size > 0 ? (width * whole) / size : 0 };
}

type Rows = Pick<View, "icicle" | "contentHeight" | "scroll" | "skip">;

export function rowTop(depth: number, v: Rows): number {
  const row = depth - v.skip;
  return (v.icicle ? row * ROW : v.contentHeight - (row + 1) * ROW) - v.scroll;
}

export function depthAt(y: number, v: Rows): number {
  const at = y + v.scroll;
  return Math.floor(v.icicle ? at / ROW : (v.contentHeight - at) / ROW) + v.skip;
}

function label(t: Tree, node: number, width: number): string {
  const room = Math.floor((width - 8) / CHAR);
  if (room < 3) return "";
  let text = visible(nameOf(t, node));
  if (t.otherTotal && node > 0) {
    if ((t.total[node] ?? 0) <= 0) text = `+ ${text}`;
    else if ((t.otherTotal[node] ?? 0) <= 0) text = `− ${text}`;
  } else if (t.otherTotal) {
    const whole = `${text} ${amount(t.total[0] ?? 0, t.measure)} → ${amount(t.otherTotal[0] ?? 0, t.measure)}`;
    if (whole.length <= room) text = whole;
  } else if (waitOf(t.frames[t.frame[node] ?? -1]) !== "" || node === 0) {
    const whole = `${text} ${amount(t.total[node] ?? 0, t.measure)}`;
    if (whole.length <= room) text = whole;
  }
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

/** On a whole pixel of the screen: edges between two are mixed one by one, which costs more than all the rest. */
function snapped(x: number): number {
  return Math.round(x * pixels) / pixels;
}

/** Of the screen, for one of the page; the browser takes longer to say it than a bar to be drawn */
let pixels = 1;

function bar(g: CanvasRenderingContext2D, t: Tree, node: number, x: number, w: number, v: View): void {
  const depth = t.depth[node] ?? 0;
  if (depth < v.skip) return;
  const y = rowTop(depth, v);
  const paint = paintOf(t, node, v.diffBy);
  const hit = v.matches === undefined || node === 0 || v.matches.frames[t.frame[node] ?? 0] === 1;
  const from = snapped(x);
  const wide = Math.max(snapped(x + w - (w > 3 ? 1 : 0)) - from, 0.5);
  if (!hit) g.globalAlpha = 0.35;
  g.fillStyle = paint.fill;
  g.fillRect(from, y, wide, ROW - 1);
  const hatch = paint.hatch === "" ? undefined : hatchOf(g, paint.hatch);
  if (hatch) {
    g.fillStyle = hatch;
    g.fillRect(from, y, wide, ROW - 1);
  }
  const text = label(t, node, w);
  if (text !== "") {
    if (hatch) {
      g.fillStyle = paint.fill;
      g.fillRect(x + 3, y + 2, Math.min(text.length * CHAR + 6, wide - 4), ROW - 5);
    }
    g.globalAlpha = hit ? 1 : 0.6;
    g.fillStyle = paint.ink;
    g.fillText(text, x + (hatch ? 6 : 4), y + ROW / 2);
  }
  g.globalAlpha = 1;
  if (node > 0 && w > 2 && v.picked !== "" && t.frames[t.frame[node] ?? 0]?.function === v.picked) {
    g.fillStyle = v.outline;
    g.fillRect(x, y + ROW - 3, Math.max(w - 1, 1), 2);
  }
}

/** Draws; gives how many bars there were. */
export function draw(g: CanvasRenderingContext2D, t: Tree, v: View): number {
  pixels = typeof devicePixelRatio === "number" && devicePixelRatio > 0 ? devicePixelRatio : 1;
  g.fillStyle = v.back;
  g.fillRect(0, 0, v.width, v.height);
  g.font = FONT;
  g.textBaseline = "middle";
  const { left, scale } = windowOf(t, v.node, v.width);
  const whole = t.size[0] ?? 0;
  if (whole <= 0 || scale <= 0) return 0;
  let bars = 0;
  for (let up = v.node; ; up = t.parent[up] ?? 0) {
    bar(g, t, up, 0, v.width, v); // the way to the root, over the whole width
    bars++;
    if (up === 0) break;
  }
  const lowest = v.icicle ? depthAt(v.height, v) : depthAt(0, v);
  const stack = [v.node];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    for (let c = t.first[node] ?? -1; c >= 0; c = t.next[c] ?? -1) {
      const x = ((t.x[c] ?? 0) - left) * scale;
      const w = ((t.size[c] ?? 0) / whole) * scale;
      if (w < NARROW && t.isTimed) {
        // In order of time a wide bar may still come.
        g.fillStyle = v.faded;
        g.fillRect(x, rowTop(t.depth[c] ?? 0, v), w, ROW - 1);
        continue;
      }
      if (w < NARROW) {
        const y = rowTop(t.depth[c] ?? 0, v);
        const end = ((t.x[node] ?? 0) + (t.size[node] ?? 0) / whole - left) * scale;
        const width = Math.min(end - x, restWidth(t, c, whole, scale));
        if (width >= 0.5) {
          g.fillStyle = v.faded;
          g.fillRect(snapped(x), y, Math.max(snapped(x + width) - snapped(x), 0.5), ROW - 1);
        }
        break;
      }
      const y = rowTop(t.depth[c] ?? 0, v);
      if (y > -ROW && y < v.height) {
        bar(g, t, c, x, w, v);
        bars++;
      }
      if ((t.depth[c] ?? 0) <= lowest) stack.push(c);
    }
  }
  return bars;
}

/** Where a bar stands on the canvas; undefined: not in sight. */
export function placeOnCanvas(t: Tree, node: number, v: Pick<View, "node" | "width" | "height"> & Rows): { x: number; y: number; w: number } | undefined {
  const { left, scale } = windowOf(t, v.node, v.width);
  const whole = t.size[0] ?? 0;
  if (node < 0 || whole <= 0 || (t.depth[node] ?? 0) < v.skip) return undefined;
  const isAbove = (t.depth[node] ?? 0) <= (t.depth[v.node] ?? 0);
  const x = isAbove ? 0 : ((t.x[node] ?? 0) - left) * scale;
  const w = isAbove ? v.width : ((t.size[node] ?? 0) / whole) * scale;
  const y = rowTop(t.depth[node] ?? 0, v);
  return y < -ROW || y > v.height ? undefined : { x, y, w };
}

function restWidth(t: Tree, from: number, whole: number, scale: number): number {
  let size = 0;
  for (let c = from; c >= 0; c = t.next[c] ?? -1) size += t.size[c] ?? 0;
  return (size / whole) * scale;
}
