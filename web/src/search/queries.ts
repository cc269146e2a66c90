// Queries a person ran and kept, in this browser; and what a query is.

const RECENT = "spanflame.recentQueries";
const SAVED = "spanflame.savedQueries";
const MOST_RECENT = 8;
const MOST_SAVED = 50;

function read(key: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept.filter((q): q is string => typeof q === "string") : [];
  } catch {
    return [];
  }
}

export const recentQueries = () => read(RECENT);
export const savedQueries = () => read(SAVED);

export function rememberQuery(q: string): void {
  if (q.trim() === "" || q.replace(/\s/g, "") === "{}" || q.length > 4000) return;
  localStorage.setItem(RECENT, JSON.stringify([q, ...recentQueries().filter((r) => r !== q)].slice(0, MOST_RECENT)));
}

export function saveQuery(q: string, on: boolean): void {
  const rest = savedQueries().filter((s) => s !== q);
  localStorage.setItem(SAVED, JSON.stringify(on ? [q, ...rest].slice(0, MOST_SAVED) : rest));
}

const METRICS = /\|\s*(?:rate|count_over_time|min_over_time|max_over_time|avg_over_time|sum_over_time|quantile_over_time|histogram_over_time|compare|topk|bottomk)\s*\(/;

/** Without what stands in strings: a name may have a bar in it. */
export function isMetrics(q: string): boolean {
  return METRICS.test(q.replace(/"(?:[^"\\]|\\.)*"|`[^`]*`/g, '""'));
}

/** What stands between the braces of a query that is one pair of braces. */
export function innerOf(q: string): string | undefined {
  const inner = /^\s*\{(.*)\}\s*$/s.exec(q)?.[1]?.trim();
  return inner === undefined || /[{}]/.test(inner.replace(/"(?:[^"\\]|\\.)*"|`[^`]*`/g, "")) ? undefined : inner;
}

/** The query with one condition more. */
export function withCondition(q: string, condition: string): string {
  const inner = innerOf(q);
  if (inner === undefined) return `{ ${condition} }`;
  if (inner === "") return `{ ${condition} }`;
  return /\|\|/.test(inner) ? `{ (${inner}) && ${condition} }` : `{ ${inner} && ${condition} }`;
}

export const EXAMPLES: readonly (readonly [string, string])[] = [
  ["Slow requests", "{ nestedSetParent < 0 && duration > 500ms }"],
  ["Failed spans", "{ status = error }"],
  ["p95 of each service over time", "{ kind = server } | quantile_over_time(duration, .95) by (resource.service.name)"],
];

/** A trace's duration comes in whole milliseconds, rounded down; it is at least that of the span that matched. */
export function traceNs(durationMs: number | undefined, spanNanos: string | undefined): number {
  const floor = (durationMs ?? 0) * 1e6;
  const span = Number(spanNanos ?? 0);
  return span > floor && span < floor + 1e6 ? span : floor;
}
