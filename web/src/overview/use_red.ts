// Requests of each service in the range and in the time before it, and their p95 over time.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import { metrics } from "../api/metrics";
import type { Service, Services } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { asked, type Range } from "../state/range";
import { plain } from "../trace/rows";
import { BLOCKS, movedOf, partsOf, spreadOf, type Moved } from "./blocks";
import { isNews } from "./worst";

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
  readonly times: readonly number[];
}

export interface RedData {
  readonly now: Asked<Services>;
  readonly before: ReadonlyMap<string, Service>;
  readonly beforeError: string;
  /** How the p95 of services moved, in nanoseconds */
  readonly moved: ReadonlyMap<string, Moved>;
  /** Services whose p95 changed by more than chance explains, and the slower ones of these */
  readonly changed: ReadonlySet<string>;
  readonly slower: ReadonlySet<string>;
  readonly sparks: ReadonlyMap<string, Spark>;
  readonly sparkError: string;
}

/** Values in order of time without holes; a step without requests is not a line. */
export function sparkOf(s: { samples?: { timestampMs: string; value?: number }[] }): Spark {
  return { values: (s.samples ?? []).map((p) => (p.value === undefined || p.value === 0 ? null : p.value)), times: (s.samples ?? []).map((p) => Number(p.timestampMs)) };
}

/** The p95 of each service over time. */
function useP95(range: Range | undefined, stepS: number): Asked<ReadonlyMap<string, Spark>> {
  const q = `{ ${ENTRY} } | quantile_over_time(duration, .95) by (resource.service.name)`;
  return useAsk<ReadonlyMap<string, Spark>>(range ? JSON.stringify([q, range, stepS]) : "", async (signal) => {
    const { data, partial } = await metrics(q, range ?? { fromMs: 0, untilMs: 1 }, stepS, signal, "0");
    return { data: new Map((data.series ?? []).map((s) => [plain(s.labels.find((l) => l.key === "resource.service.name")?.value), sparkOf(s)])), partial };
  });
}

function blocksOf(spark: Spark | undefined, range: Range, stepS: number): (number[] | null)[] {
  const points = (spark?.values ?? []).flatMap((value, i) => (value === null ? [] : [{ ms: spark?.times[i] ?? 0, value }]));
  return partsOf(points, range, stepS * 1e3);
}

/** `isLate`: what comes first has its answer, and comparisons may be loaded. */
export function useRed(range: Range, isLate: boolean): RedData {
  const q = asked(range);
  const earlier = useMemo(() => before(range), [range]);
  const now = useAsk<Services>(`services ${JSON.stringify(q)}`, (s) => get("/api/v1/services", q, s));
  const p = asked(earlier);
  const past = useAsk<Services>(`services ${JSON.stringify(p)}`, (s) => get("/api/v1/services", p, s));
  const step = sparkStep(range);
  const lines = useP95(now.data ? range : undefined, step);
  // Only its error is needed of the time before: few points, and only where there is something to compare.
  const pastStep = Math.max(1, Math.ceil((range.untilMs - range.fromMs) / 1e3 / BLOCKS));
  const old = useP95(isLate && lines.data && (past.data?.services.length ?? 0) > 0 ? earlier : undefined, pastStep);
  const map = useMemo(() => new Map((past.data?.services ?? []).map((s) => [s.service, s])), [past.data]);
  const moved = useMemo(() => {
    const out = new Map<string, Moved>();
    for (const [service, spark] of lines.data ?? []) {
      const m = movedOf(spreadOf(blocksOf(old.data?.get(service), earlier, pastStep)), spreadOf(blocksOf(spark, range, step)));
      if (m) out.set(service, { delta: m.delta * 1e9, low: m.low * 1e9, high: m.high * 1e9 });
    }
    return out;
  }, [lines.data, old.data, earlier, range, step, pastStep]);
  const news = useMemo(() => (now.data?.services ?? []).filter((s) => isNews(map.get(s.service)?.requests, s.requests, moved.get(s.service))), [now.data, map, moved]);
  const changed = useMemo(() => new Set(news.map((s) => s.service)), [news]);
  const slower = useMemo(() => new Set(news.filter((s) => s.requests.p95Ns > (map.get(s.service)?.requests.p95Ns ?? 0)).map((s) => s.service)), [news, map]);
  const error = past.error ?? old.error;
  return { now, before: map, beforeError: error?.message ?? "", moved, changed, slower, sparks: lines.data ?? new Map<string, Spark>(), sparkError: lines.error?.message ?? "" };
}
