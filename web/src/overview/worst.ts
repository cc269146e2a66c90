// Which service a person should examine first, and what changed against the time before.

import type { Service } from "../api/types";
import type { Moved } from "./blocks";

type Requests = Service["requests"];

/** Quantiles are estimates, mostly right within a tenth: less than this is no news. */
export const NOISE = 0.1;
/** Requests in a period, ten of them slower than the p95: of fewer, the parts of the time have too few to show its error. */
export const ENOUGH = 200;

/** Did the p95 change by more than chance explains? `moved` is the mean change of the parts of the time. */
export function isNews(before: Requests | undefined, after: Requests, moved: Moved | undefined): boolean {
  if (!before || !moved || before.count < ENOUGH || after.count < ENOUGH || !(before.p95Ns > 0)) return false;
  const grown = after.p95Ns / before.p95Ns - 1;
  return grown > 0 ? grown > NOISE && moved.low > 0 : -grown > NOISE && moved.high < 0;
}

/** Seconds lost each second: failed requests with their whole duration, slower ones with what they grew by. */
export function lost(s: Service, before: Service | undefined, isChanged: boolean): number {
  const r = s.requests;
  const grown = isChanged ? Math.max(0, r.meanNs - (before?.requests.meanNs ?? r.meanNs)) : 0;
  return r.ratePerSecond * (r.errorShare * Math.max(r.meanNs, 1e7) + grown);
}

/** Worst first; what lost nothing by the time that was spent in it. `changed`: services whose p95 did. */
export function worstFirst(services: readonly Service[], before: ReadonlyMap<string, Service>, changed: ReadonlySet<string>): Service[] {
  const key = new Map(services.map((s) => [s, [lost(s, before.get(s.service), changed.has(s.service)), s.requests.ratePerSecond * s.requests.meanNs] as const]));
  return [...services].sort((a, b) => {
    const [x = 0, t = 0] = key.get(a) ?? [];
    const [y = 0, u = 0] = key.get(b) ?? [];
    return y - x || u - t || (a.service < b.service ? -1 : 1);
  });
}
