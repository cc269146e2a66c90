// Bars by package; differences from purple (less) to orange (more), which the usual kinds of colour blindness tell apart.

import type { Frame } from "../api/types";
import { hash, serviceColor } from "../format/color";
import { isKernel, packageOf } from "./transform";
import type { Tree } from "./tree";

/** Colours by the change itself or by its share of the bar; "request": by the change for each request. */
export type DiffBy = "absolute" | "relative" | "request";

export interface Paint {
  readonly fill: string;
  readonly ink: string;
}

const DARK = "#16181c";
const LIGHT = "#ffffff";
const shades = new Map<string, string>();

export function frameFill(f: Frame): string {
  if (f.kind === "service") return serviceColor(f.function);
  if (f.kind === "span") return "#c9d3e3";
  if (isKernel(f)) return "#f3b04b";
  const pack = packageOf(f);
  let fill = shades.get(pack);
  if (fill === undefined) {
    const h = hash(pack);
    // Warm and green hues; blue is left to services and spans.
    fill = pack === "" ? "#e8b98f" : `hsl(${String(h % 170)} ${String(48 + (h >>> 9) % 25)}% ${String(66 + (h >>> 15) % 10)}%)`;
    shades.set(pack, fill);
  }
  return fill;
}

function mix(from: readonly number[], to: readonly number[], t: number): string {
  const part = (i: number) => Math.round((from[i] ?? 0) + ((to[i] ?? 0) - (from[i] ?? 0)) * t);
  return `rgb(${String(part(0))} ${String(part(1))} ${String(part(2))})`;
}

const SAME = [226, 226, 226];
const MORE = [240, 130, 40];
const LESS = [150, 120, 210];
export const ONLY_RIGHT: Paint = { fill: "#a63c00", ink: LIGHT };
export const ONLY_LEFT: Paint = { fill: "#46237a", ink: LIGHT };

export function diffPaint(t: Tree, node: number, by: DiffBy): Paint {
  const a = t.total[node] ?? 0;
  const b = t.otherTotal?.[node] ?? 0;
  if (node > 0 && a <= 0 && b > 0) return ONLY_RIGHT;
  if (node > 0 && b <= 0 && a > 0) return ONLY_LEFT;
  const whole = by === "relative" ? Math.max(a, b) : Math.max(t.total[0] ?? 0, t.otherTotal?.[0] ?? 0);
  const change = whole > 0 ? (b - a) / whole : 0;
  const strength = Math.min(1, by === "relative" ? Math.abs(change) : Math.sqrt(Math.abs(change)) * 1.4);
  return { fill: mix(SAME, change > 0 ? MORE : LESS, strength), ink: DARK };
}

export function paintOf(t: Tree, node: number, by: DiffBy): Paint {
  if (t.otherTotal) return diffPaint(t, node, by);
  const f = t.frames[t.frame[node] ?? -1];
  return { fill: f ? frameFill(f) : "#d5d8dd", ink: DARK };
}
