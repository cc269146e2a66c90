// Requests of each service in the range and in the time before it, and their p95 over time.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import { metrics } from "../api/metrics";
import type { MetricAnswer, Service, Services } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { asked, type Range } from "../state/range";
import { plain } from "../trace/rows";

/** The spans by which requests enter a service, as near as TraceQL says it. */
export const ENTRY = "(kind = server || kind = consumer || nestedSetParent < 0)";

export function before(range: Range): Range {
  return { fromMs: range.fromMs - (range.untilMs - range.fromMs), untilMs: range.fromMs };
}

/** A round step for about 40 points. */
export function sparkStep(range: Range): number {
  const want = (range.untilMs - range.fromMs) / 1e3 / 40;
  return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600].find((s) => s >= want) ?? 86400;
}

export interface Spark {
  readonly values: readonly (number | null)[];
}

export interface RedData {
  readonly now: Asked<Services>;
  readonly before: ReadonlyMap<string, Service>;
  readonly beforeError: string;
  readonly sparks: ReadonlyMap<string, Spark>;
  readonly sparkError: string;
}

/** Values in order of time without holes; a step without requests is not a line. */
export function sparkOf(s: { samples?: { timestampMs: string; value?: number }[] }): Spark {
  return { values: (s.samples ?? []).map((p) => (p.value === undefined || p.value === 0 ? null : p.value)) };
}

export function useRed(range: Range): RedData {
  const q = asked(range);
  const now = useAsk<Services>(`services ${JSON.stringify(q)}`, (s) => get("/api/v1/services", q, s));
  const p = asked(before(range));
  const past = useAsk<Services>(`services ${JSON.stringify(p)}`, (s) => get("/api/v1/services", p, s));
  const step = sparkStep(range);
  const ask = `{ ${ENTRY} } | quantile_over_time(duration, .95) by (resource.service.name)`;
  const lines = useAsk<MetricAnswer>(JSON.stringify([ask, range, step]), (s) => metrics(ask, range, step, s, "0"));
  const sparks = useMemo(() => new Map((lines.data?.series ?? []).map((s) => [plain(s.labels.find((l) => l.key === "resource.service.name")?.value), sparkOf(s)])), [lines.data]);
  const map = useMemo(() => new Map((past.data?.services ?? []).map((s) => [s.service, s])), [past.data]);
  return { now, before: map, beforeError: past.error?.message ?? "", sparks, sparkError: lines.error?.message ?? "" };
}
