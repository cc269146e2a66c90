// What each deploy of a list changed per request. The server is asked for one deploy after the other, the newest first.

import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import { metrics } from "../api/metrics";
import type { Explain, MetricAnswer } from "../api/types";
import { DEPLOY_ENTRY, KEYS, type Deploy } from "../overview/use_deploys";
import { asked, type Range } from "../state/range";

/** A value that changed, with its 95 % interval. */
export interface Change {
  readonly delta: number;
  readonly low: number;
  readonly high: number;
}

export interface Counts {
  readonly all: number;
  readonly failed: number;
}

export interface DeployChange {
  readonly explain: Explain | ApiError;
  /** Requests before and after, or why they could not be counted; undefined: not asked */
  readonly counts: { readonly left: Counts; readonly right: Counts } | ApiError | undefined;
}

export type DeployChanges = ReadonlyMap<string, DeployChange>;

const Z = 1.96;

/** Wilson's interval of a share. */
function wilson(k: number, n: number): [number, number] {
  const p = k / n;
  const middle = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n))) / (1 + (Z * Z) / n);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** The difference of two shares with Newcombe's interval, which holds for few and for no errors, too. */
export function shareChange(left: Counts, right: Counts): Change | undefined {
  if (left.all <= 0 || right.all <= 0) return undefined;
  const [a, b] = [left.failed / left.all, right.failed / right.all];
  const [la, ha] = wilson(left.failed, left.all);
  const [lb, hb] = wilson(right.failed, right.all);
  return { delta: b - a, low: b - a - Math.hypot(b - lb, ha - a), high: b - a + Math.hypot(hb - b, a - la) };
}

/** Requests of a version, and those that failed. */
export function countsOf(answer: MetricAnswer | undefined, key: string, version: string): Counts {
  const out = { all: 0, failed: 0 };
  for (const s of answer?.series ?? []) {
    const of = (name: string) => s.labels.find((l) => l.key === name)?.value.stringValue;
    if (of(key) !== version) continue;
    const n = (s.samples ?? []).reduce((sum, p) => sum + (p.value ?? 0), 0);
    out.all += n;
    if (of("status") === "error") out.failed += n;
  }
  return out;
}

function timeOf(e: { readonly low_ns: number | null; readonly high_ns: number | null }, delta: number): Change | undefined {
  return e.low_ns === null || e.high_ns === null ? undefined : { delta, low: e.low_ns, high: e.high_ns };
}

/** The change of the duration of a request; undefined: not known, or too few spans. */
export function durationChange(c: DeployChange | undefined): Change | undefined {
  return c === undefined || c.explain instanceof ApiError ? undefined : timeOf(c.explain, c.explain.duration_ns);
}

/** The CPU time of the service in a request: of the span that enters, and of the service's own child spans that the answer breaks
 * down. The ends of the intervals are added, which is wider than the interval of the sum. */
export function cpuChange(c: DeployChange | undefined): Change | undefined {
  if (c === undefined || c.explain instanceof ApiError) return undefined;
  const e = c.explain;
  const own = e.parts.flatMap((p) => p.children ?? []).filter((child) => child.service === e.service);
  const some = [e.parts, ...own.map((child) => child.parts ?? [])].flat().filter((p) => p.part === "on_cpu").map((p) => timeOf(p, p.ns));
  const known = some.filter((x) => x !== undefined);
  if (known.length === 0) return undefined;
  return known.reduce((sum, x) => ({ delta: sum.delta + x.delta, low: sum.low + x.low, high: sum.high + x.high }));
}

export function errorsChange(c: DeployChange | undefined): Change | undefined {
  return c === undefined || c.counts === undefined || c.counts instanceof ApiError ? undefined : shareChange(c.counts.left, c.counts.right);
}

export function keyOf(d: Deploy): string {
  return `${d.service} ${d.version} ${String(d.ms)}`;
}

/** The server tells versions apart by service.version; commits alone are compared by the page of before and after. */
export function isExplained(d: Deploy): boolean {
  return d.isSeen && d.key === KEYS[0] && d.against !== "";
}

const failed = (e: unknown) => (e instanceof ApiError ? e : new ApiError(0, String(e), 0));

async function changeOf(d: Deploy, range: Range, hasCounts: boolean, signal: AbortSignal): Promise<DeployChange> {
  const stepS = Math.max(1, Math.ceil((range.untilMs - range.fromMs) / 60e3));
  const of = (version: string) => `${d.key} = ${JSON.stringify(version)}`;
  const q = `{ resource.service.name = ${JSON.stringify(d.service)} && ${DEPLOY_ENTRY} && (${of(d.against)} || ${of(d.version)}) } | count_over_time() by (${d.key}, status)`;
  const [explain, counts] = await Promise.all([
    get<Explain>("/api/v1/explain", { service: d.service, version: d.version, against: d.against, ...asked(range) }, signal)
      .then((a) => a.data)
      .catch(failed),
    hasCounts
      ? metrics(q, range, stepS, signal, "0")
          .then((a) => ({ left: countsOf(a.data, d.key, d.against), right: countsOf(a.data, d.key, d.version) }))
          .catch(failed)
      : undefined,
  ]);
  return { explain, counts };
}

/** Of the first `most` deploys of the list whose two versions are known; without counts, half as many queries. */
export function useDeployChanges(deploys: readonly Deploy[], range: Range, most: number, hasCounts = true): DeployChanges {
  const [known, setKnown] = useState<{ of: string; changes: DeployChanges }>({ of: "", changes: new Map() });
  const of = JSON.stringify(range);
  const todo = deploys.filter((d, at) => at < most && isExplained(d));
  const key = todo.map(keyOf).join("\n");
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      for (const d of todo) {
        if (known.of === of && known.changes.has(keyOf(d))) continue;
        const change = await changeOf(d, range, hasCounts, stop.signal);
        if (stop.signal.aborted) return;
        setKnown((now) => ({ of, changes: new Map(now.of === of ? now.changes : []).set(keyOf(d), change) }));
      }
    };
    void ask();
    return () => stop.abort();
  }, [key, of]);
  return known.of === of ? known.changes : new Map();
}
