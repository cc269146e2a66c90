// A histogram over time as a grid: columns are steps, rows are powers of two.

import type { MetricAnswer } from "../api/types";

export interface Dot {
  readonly ms: number;
  readonly seconds: number;
  readonly trace: string;
}
export interface Heat {
  readonly times: readonly number[];
  /** Upper edges in seconds, rising, without holes */
  readonly edges: readonly number[];
  readonly cells: readonly Float64Array[];
  readonly max: number;
  readonly dots: readonly Dot[];
}

export function heatOf(answer: MetricAnswer): Heat {
  const series = answer.series ?? [];
  const rows = new Map<number, Map<number, number>>();
  const times = new Set<number>();
  const dots: Dot[] = [];
  for (const s of series) {
    const edge = Number(s.labels.find((l) => l.key === "__bucket")?.value.doubleValue ?? NaN);
    if (!Number.isFinite(edge) || edge <= 0) continue;
    const row = new Map<number, number>();
    for (const p of s.samples ?? []) {
      times.add(Number(p.timestampMs));
      row.set(Number(p.timestampMs), p.value ?? 0);
    }
    rows.set(edge, row);
    for (const e of s.exemplars ?? []) {
      const trace = e.labels.find((l) => l.key === "trace:id" || l.key === "traceID")?.value.stringValue;
      if (trace !== undefined) dots.push({ ms: Number(e.timestampMs), seconds: e.value ?? 0, trace });
    }
  }
  const sorted = [...times].sort((a, b) => a - b);
  const known = [...rows.keys()].sort((a, b) => a - b);
  const edges: number[] = [];
  const last = known[known.length - 1] ?? 0;
  for (let e = known[0] ?? 1; e <= last * 1.01; e *= 2) edges.push(e);
  // A few rows at least: where there is no space above and below, a box is hard to draw.
  while (edges.length > 0 && edges.length < 4) edges.unshift((edges[0] ?? 1) / 2);
  let max = 0;
  const cells = edges.map((edge) => {
    const near = known.find((k) => Math.abs(k / edge - 1) < 0.01);
    const row = near === undefined ? undefined : rows.get(near);
    return Float64Array.from(sorted, (t) => {
      const v = row?.get(t) ?? 0;
      if (v > max) max = v;
      return v;
    });
  });
  return { times: sorted, edges, cells, max, dots };
}

/** Place on the axis, 0 at the bottom, 1 at the top. */
export function heightOf(h: Heat, seconds: number): number {
  const low = Math.log2((h.edges[0] ?? 1) / 2);
  const high = Math.log2(h.edges[h.edges.length - 1] ?? 1);
  return high > low ? (Math.log2(Math.max(seconds, 1e-9)) - low) / (high - low) : 0;
}

export function secondsAt(h: Heat, height: number): number {
  const low = Math.log2((h.edges[0] ?? 1) / 2);
  const high = Math.log2(h.edges[h.edges.length - 1] ?? 1);
  return 2 ** (low + (high - low) * height);
}

export const LEVELS = 7;

/** Which of the seven colours: steps in powers, so that single slow spans beside many fast ones are seen. */
export function heatLevel(v: number, max: number): number {
  if (max <= 1 || v <= 1) return v >= max && max > 1 ? LEVELS : 1;
  return Math.min(LEVELS, 1 + Math.floor(((LEVELS - 0.001) * Math.log(v)) / Math.log(max)));
}

const DOTS = 16;

/** As many dots as can be told apart, slow ones first, no two in one place. A step that begins before the range has spans from before it, too. */
export function bestDots(h: Heat, fromMs = -Infinity, untilMs = Infinity): Dot[] {
  const out: Dot[] = [];
  const first = h.times[0] ?? 0;
  const span = (h.times[h.times.length - 1] ?? 0) - first || 1;
  for (const d of h.dots.filter((dot) => dot.ms >= fromMs && dot.ms <= untilMs).sort((a, b) => b.seconds - a.seconds)) {
    if (out.length >= DOTS) break;
    const isNear = (o: Dot) => Math.abs(o.ms - d.ms) / span < 0.015 && Math.abs(heightOf(h, o.seconds) - heightOf(h, d.seconds)) < 0.05;
    if (!out.some(isNear)) out.push(d);
  }
  return out;
}

export function spansOf(h: Heat): number {
  return h.cells.reduce((n, row) => n + row.reduce((m, v) => m + v, 0), 0);
}
