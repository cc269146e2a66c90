// Answers of TraceQL metrics as lines and marks of a chart.

import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import type { Line } from "../charts/line_chart";
import { duration, rate } from "../format/units";
import type { Range } from "../state/range";
import { plain } from "../trace/rows";

const COLORS = ["var(--accent)", "var(--ink-2)", "var(--ink-3)"];

export const perSecond = (n: number) => rate(n);
export const asDuration = (n: number) => duration(n * 1e9);

export function useMetrics(q: string, range: Range, stepS: number): Asked<MetricAnswer> {
  return useAsk<MetricAnswer>(JSON.stringify([q, range, stepS]), (s) => metrics(q, range, stepS, s));
}

/** `names` and `colors` by number and first label. Steps without spans count as 0; a duration of 0 is none. */
export function linesOf(
  a: MetricAnswer | undefined,
  names: (at: number, label: string) => string,
  colors: (at: number, label: string) => string = (i) => COLORS[i % COLORS.length] ?? "var(--ink-3)",
  isDuration = false,
): { times: number[]; lines: Line[] } {
  const series = a?.series ?? [];
  const times = [...new Set(series.flatMap((s) => (s.samples ?? []).map((p) => Number(p.timestampMs))))].sort((x, y) => x - y);
  const lines = series.map((s, i) => {
    const label = plain(s.labels[0]?.value);
    const at = new Map((s.samples ?? []).map((p) => [Number(p.timestampMs), p.value ?? 0]));
    return { name: names(i, label), color: colors(i, label), values: times.map((t) => (isDuration ? at.get(t) || null : (at.get(t) ?? null))) };
  });
  return { times, lines };
}
