// Which service a person should examine first, and what changed against the time before.

import type { Service } from "../api/types";

/** Quantiles are estimates, mostly right within a tenth, and a few requests say nothing: less than this is no news. */
const NOISE = 0.1;
const ENOUGH = 30;

export function isNews(before: Service["requests"] | undefined, after: Service["requests"]): boolean {
  if (!before || before.count < ENOUGH || after.count < ENOUGH || !(before.p95Ns > 0)) return false;
  return Math.abs(after.p95Ns / before.p95Ns - 1) > NOISE;
}

/** Seconds lost each second: failed requests with their whole duration, slower ones with what they grew by. */
export function lost(s: Service, before: Service | undefined): number {
  const r = s.requests;
  const grown = isNews(before?.requests, r) ? Math.max(0, r.meanNs - (before?.requests.meanNs ?? r.meanNs)) : 0;
  return r.ratePerSecond * (r.errorShare * Math.max(r.meanNs, 1e7) + grown);
}

/** Worst first; what lost nothing by the time that was spent in it. */
export function worstFirst(services: readonly Service[], before: ReadonlyMap<string, Service>): Service[] {
  const key = new Map(services.map((s) => [s, [lost(s, before.get(s.service)), s.requests.ratePerSecond * s.requests.meanNs] as const]));
  return [...services].sort((a, b) => {
    const [x = 0, t = 0] = key.get(a) ?? [];
    const [y = 0, u = 0] = key.get(b) ?? [];
    return y - x || u - t || (a.service < b.service ? -1 : 1);
  });
}
