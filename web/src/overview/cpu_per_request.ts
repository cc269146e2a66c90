// CPU time per request that enters the system: of all services with CPU profiles, by the number of entry requests. Work that is
// done for no request counts, too.

import { count } from "../format/units";
import type { Costs } from "../views/use_costs";
import { BLOCKS, movedOf, ratioOf, type Moved, type Part } from "./blocks";

/** A service has profiles of all requests if its first and last are no further from the first and last requests than so many parts: steps of
 * requests do not end where parts do, and profiles are uploaded after what they are of. */
const SLACK = 1;

export interface CpuPerRequest {
  readonly ns: number;
  /** In each part of the time; null: no profiles or no requests */
  readonly parts: readonly (number | null)[];
  /** Services that have CPU profiles of all requests, and all that have some */
  readonly whole: readonly string[];
  readonly some: readonly string[];
}

type Counts = readonly (number | null)[];

interface Span {
  readonly first: number;
  readonly last: number;
}

function covered(counts: Counts): Span | undefined {
  const has = (v: number | null) => v !== null && v > 0;
  const first = counts.findIndex(has);
  return first < 0 ? undefined : { first, last: counts.length - 1 - [...counts].reverse().findIndex(has) };
}

function isWhole(cpu: Span, requests: Span): boolean {
  return cpu.first <= requests.first + SLACK && cpu.last >= requests.last - SLACK;
}

/** `requests` of each part of the time. Of a service that was profiled for a part of it, the requests of that part count. */
export function cpuPerRequest(costs: Costs["of"], requests: Counts, only?: ReadonlySet<string>): CpuPerRequest | undefined {
  const asked = covered(requests);
  if (!asked) return undefined;
  const whole: string[] = [];
  const some: string[] = [];
  const sums: Part[] = requests.map((d) => ({ n: 0, d: d ?? 0 }));
  let ns = 0;
  for (const [name, cost] of costs ?? []) {
    const c = covered(cost.cpu);
    if (!c || (only && !only.has(name))) continue;
    some.push(name);
    if (isWhole(c, asked)) whole.push(name);
    const range = isWhole(c, asked) ? { first: 0, last: BLOCKS - 1 } : c;
    let [cpu, count] = [0, 0];
    for (let i = range.first; i <= range.last; i++) {
      cpu += cost.cpu[i] ?? 0;
      count += requests[i] ?? 0;
    }
    if (count > 0) ns += cpu / count;
    sums.forEach((p, i) => (sums[i] = { n: p.n + (cost.cpu[i] ?? 0), d: p.d }));
  }
  if (some.length === 0) return undefined;
  return { ns, parts: sums.map((p) => (p.d > 0 && p.n > 0 ? p.n / p.d : null)), whole, some };
}

export interface CpuChange {
  /** Of the same services, in the time before */
  readonly before: number;
  readonly after: number;
  readonly moved: Moved | undefined;
}

/** The change against the time before; a sentence where the two cannot be compared. */
export function cpuChangeOf(now: Costs["of"], requests: Counts, past: Costs["of"], pastRequests: Counts): CpuChange | string {
  const a = cpuPerRequest(past, pastRequests);
  const b = cpuPerRequest(now, requests);
  if (!a || !b) return "no CPU profiles or no requests in the preceding period";
  const all = new Set([...a.some, ...b.some]);
  const parted = [...all].filter((name) => !a.whole.includes(name) || !b.whole.includes(name));
  if (parted.length > 0) return `not compared: ${parted.length === 1 ? String(parted[0]) : `${count(parted.length)} services`} had CPU profiles for a part of the time only`;
  const sums = (costs: Costs["of"], of: Counts): Part[] => of.map((d, i) => ({ n: [...(costs ?? []).values()].reduce((n, c) => n + (c.cpu[i] ?? 0), 0), d: d ?? 0 }));
  return { before: a.ns, after: b.ns, moved: movedOf(ratioOf(sums(past, pastRequests)), ratioOf(sums(now, requests))) };
}
