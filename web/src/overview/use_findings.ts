// What stands out in every service, by one query.

import { useRef } from "preact/hooks";
import { credentials, get, type Answer } from "../api/client";
import type { Finding, Findings } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { asked, type Range } from "../state/range";

export interface ServiceFindings extends Findings {
  service: string;
  /** Why there are none: the query about it failed */
  error?: string;
}
export interface AllFindings {
  services: ServiceFindings[];
  /** Services that were not examined any more: the query took too long */
  left: number;
}

export interface Told extends Finding {
  readonly service: string;
}

/** The last answer: the way back from a finding to the list does not examine all services again. */
let last: { readonly key: string; readonly atMs: number; readonly answer: Answer<AllFindings> } | undefined;
const KEEP_MS = 30e3;

export function useFindings(range: Range): Asked<AllFindings> {
  const q = { each: "service", ...asked(range) };
  const key = `findings ${JSON.stringify([q, credentials().tenant])}`;
  const isFirst = useRef(true); // "Try again" asks again
  return useAsk<AllFindings>(key, async (s) => {
    const wasFirst = isFirst.current;
    isFirst.current = false;
    if (wasFirst && last?.key === key && performance.now() - last.atMs < KEEP_MS) return last.answer;
    const answer = await get<AllFindings>("/api/v1/findings", q, s);
    last = { key, atMs: performance.now(), answer };
    return answer;
  });
}

/** What costs requests most first, as the server ranks them; what is not known per request by its share, after them. One cause once: the same function, or the same way with the same share, whatever kind says it. */
export function ranked(all: AllFindings | undefined): Told[] {
  const out: Told[] = [];
  const seen = new Set<string>();
  const list = (all?.services ?? []).flatMap((s) => s.findings.map((f) => ({ ...f, service: s.service })));
  list.sort((a, b) => (b.rankNs ?? -1) - (a.rankNs ?? -1) || b.share - a.share);
  const way = (f: Told) => f.path.replace(/^(\.\.\. > )?/, "");
  for (const f of list) {
    const key = `${f.service}\0${f.subject}`;
    const isSame = (o: Told) => o.service === f.service && way(f) !== "" && way(o) !== "" && Math.abs(o.share - f.share) < 0.02 && (way(o).includes(way(f)) || way(f).includes(way(o)));
    if (seen.has(key) || out.some(isSame)) continue;
    seen.add(key);
    out.push(f);
  }
  return out;
}

/** What was not judged of which services; the same sentence once. */
export function reasonsOf(all: AllFindings): readonly { reason: string; services: readonly string[] }[] {
  const out = new Map<string, string[]>();
  for (const s of all.services)
    for (const told of (s.error ?? "") === "" ? [s.reason, s.note ?? ""] : []) {
      const words = told.replace(`no profiles from ${s.service} in this time`, "no profiles in this time");
      if (words !== "") out.set(words, [...(out.get(words) ?? []), s.service]);
    }
  return [...out].map(([reason, services]) => ({ reason, services }));
}

export const KIND_WORDS: Readonly<Record<string, string>> = {
  hot_function: "Hot function",
  repeated_function: "Called from many places",
  repeated_parse: "Parsed repeatedly",
  repeated_spans: "Repeated calls",
  deep_stack: "Deep stack",
  gc: "Garbage collection",
  allocator: "Allocation",
  lock: "Lock",
  theme: "Kind of work",
  library: "Library",
  disk: "Disk",
  network: "Network",
  memory_growth: "Memory grows",
  thread_growth: "Threads grow",
  stuck_on_lock: "Stuck on a lock",
};

/** The sentence without what to do about it, which stands apart. */
export function factOf(f: Finding): string {
  const tail = `: ${f.action}`;
  return f.action !== "" && f.sentence.endsWith(tail) ? f.sentence.slice(0, -tail.length) : f.sentence;
}
