// Alerts over time: the values of a rule with its limit, and when it fired in the last seven days.

import { metrics } from "../api/metrics";
import type { MetricAnswer, MetricSeries } from "../api/types";
import { useAsk } from "../api/use_ask";
import { Sparkline } from "../charts/sparkline";
import { visible } from "../format/safe_text";
import { count, countOf, duration, moment } from "../format/units";
import { plain } from "../trace/rows";

export type Labels = Readonly<Record<string, string>>;

/** Members of a TraceQL rule with a limit */
export interface Limit {
  readonly traceql: string;
  readonly threshold: number;
  readonly windowSeconds: number;
}

const WINDOWS = 24;
const MAX_DAYS = 14;

/** Finds the series of an alert: each label of the series, under its Prometheus name, is a label of the alert. */
export function seriesOf(answer: MetricAnswer | undefined, labels: Labels): MetricSeries | undefined {
  return (answer?.series ?? []).find((s) => s.labels.every((l) => l.key === "__name__" || labels[l.key.replace(/\W/g, "_")] === plain(l.value)));
}

/** One value for each of the last windows, including the current one; null: no value. */
export function windowValues(series: MetricSeries | undefined, untilMs: number, stepMs: number, n: number): (number | null)[] {
  const by = new Map((series?.samples ?? []).map((p) => [Math.round(Number(p.timestampMs) / stepMs), p.value ?? 0]));
  const last = Math.round(untilMs / stepMs);
  return Array.from({ length: n }, (_, i) => by.get(last - n + 1 + i) ?? null);
}

/** Chart of the values that the rule measured in the last windows, with the limit as a dashed line. */
export function AlertLine(props: { limit: Limit; labels: Labels; nowMs: number }) {
  const { traceql, threshold, windowSeconds } = props.limit;
  const step = Math.max(1, Math.round(windowSeconds));
  const n = Math.max(2, Math.min(WINDOWS, Math.floor((MAX_DAYS * 86400) / step)));
  const untilMs = Math.ceil(props.nowMs / 1e3 / step) * step * 1e3;
  const asked = useAsk<MetricAnswer>(`alert line ${JSON.stringify([traceql, step, untilMs])}`, (s) => metrics(traceql, { fromMs: untilMs - n * step * 1e3, untilMs }, step, s, "0"));
  if (asked.error) return <span class="f3 sm">no values: {visible(asked.error.message)}</span>;
  const values = windowValues(seriesOf(asked.data, props.labels), untilMs, step * 1e3, n);
  if (values.every((v) => v === null)) return <span class="faint">{asked.isLoading ? "…" : ""}</span>;
  const words = `The last ${countOf(n, "window")} of ${duration(step * 1e9)}, limit ${String(threshold)}`;
  return (
    <span role="img" aria-label={words} title={words}>
      <Sparkline values={values} color="var(--bad)" width={140} height={28} limit={threshold} />
    </span>
  );
}

export interface Fired {
  readonly firedAt: string;
  readonly resolvedAt: string | null;
}

const WEEK_MS = 7 * 86400e3;

/** Times at which the rule fired, as shares (0 to 1) of the last seven days. */
export function stripOf(events: readonly Fired[], nowMs: number): { from: number; until: number }[] {
  const place = (ms: number) => Math.min(1, Math.max(0, 1 - (nowMs - ms) / WEEK_MS));
  return events
    .map((e) => ({ from: place(Date.parse(e.firedAt)), until: e.resolvedAt === null ? 1 : place(Date.parse(e.resolvedAt)) }))
    .filter((s) => s.until > 0 && Number.isFinite(s.from));
}

export function HistoryStrip(props: { events: readonly Fired[]; nowMs: number }) {
  const parts = stripOf(props.events, props.nowMs);
  const words = parts.length === 0 ? "Did not fire in the last 7 days" : `Fired ${count(parts.length)} times in the last 7 days, since ${moment(props.nowMs - WEEK_MS).slice(0, 10)}`;
  return (
    <span class="week" role="img" aria-label={words} title={words}>
      {Array.from({ length: 6 }, (_, i) => (
        <b key={i} style={{ left: `${String(((i + 1) / 7) * 100)}%` }} />
      ))}
      {parts.map((p) => (
        <i key={`${String(p.from)} ${String(p.until)}`} style={{ left: `min(calc(100% - 2px), ${(p.from * 100).toFixed(2)}%)`, width: `max(2px, ${((p.until - p.from) * 100).toFixed(2)}%)` }} />
      ))}
    </span>
  );
}
