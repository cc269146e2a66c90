// Which spans of a trace have a row: in waterfall order, without what is folded away.

import type { OtlpValue, Span } from "../api/types";

export interface Row {
  readonly span: Span;
  /** Place in the trace's list */
  readonly at: number;
  readonly hasChildren: boolean;
  readonly isFolded: boolean;
  /** Spans below it, of any depth */
  readonly below: number;
  /** It represents so many siblings of its name that follow one another; 0: for itself */
  readonly run: number;
}

/** Like siblings without children become one row from so many on. */
const RUN = 4;

/** How many spans from `i` on are siblings of one name without children. */
function runAt(spans: readonly Span[], end: Int32Array, i: number): number {
  const first = spans[i];
  let n = 0;
  for (let k = i; first && k < spans.length && n < 100000; k++, n++) {
    const s = spans[k];
    if (!s || s.depth !== first.depth || s.name !== first.name || s.service !== first.service || s.parentSpanId !== first.parentSpanId || (end[k] ?? k + 1) > k + 1 || s.status === "STATUS_CODE_ERROR") break;
  }
  return n;
}

/** `opened`: runs whose spans have rows of their own, by their first span; undefined: all have. */
export function rowsOf(spans: readonly Span[], folded: ReadonlySet<string>, opened?: ReadonlySet<string>): Row[] {
  const end = ends(spans);
  const out: Row[] = [];
  let noRunBefore = 0;
  for (let i = 0; i < spans.length; ) {
    const span = spans[i];
    if (!span) break;
    const after = end[i] ?? i + 1;
    const run = opened !== undefined && i >= noRunBefore ? runAt(spans, end, i) : 0;
    if (run >= RUN && opened?.has(span.spanId) === true) noRunBefore = i + run;
    if (run >= RUN && opened?.has(span.spanId) !== true) {
      out.push({ span, at: i, hasChildren: false, isFolded: false, below: 0, run });
      i += run;
      continue;
    }
    const isFolded = folded.has(span.spanId);
    out.push({ span, at: i, hasChildren: after > i + 1, isFolded, below: after - i - 1, run: 0 });
    i = isFolded ? after : i + 1;
  }
  return out;
}

/** The span whose own time is the largest part of the critical path: where a person should look first. */
export function mostWaitedFor(spans: readonly Span[]): Span | undefined {
  let best = spans[0];
  for (const s of spans) if (s.criticalNs > (best?.criticalNs ?? 0)) best = s;
  return best;
}

/** Spans at the top whose parent is named and was not received. */
export function orphans(spans: readonly Span[]): number {
  return spans.filter((s) => s.depth === 0 && s.parentSpanId !== "").length;
}

/** For each span the place after its last descendant. */
function ends(spans: readonly Span[]): Int32Array {
  const end = new Int32Array(spans.length).fill(spans.length);
  const stack: number[] = [];
  spans.forEach((s, i) => {
    while (stack.length > 0 && (spans[stack[stack.length - 1] ?? 0]?.depth ?? 0) >= s.depth) end[stack.pop() ?? 0] = i;
    stack.push(i);
  });
  return end;
}

/** Spans whose name, service, status or attribute holds the text. */
export function spanMatches(span: Span, text: string): boolean {
  const t = text.toLowerCase();
  if (t === "") return false;
  if (span.name.toLowerCase().includes(t) || span.service.toLowerCase().includes(t) || span.spanId === t) return true;
  if (t === "error" && span.status === "STATUS_CODE_ERROR") return true;
  return span.attributes.some((a) => a.key.toLowerCase().includes(t) || plain(a.value).toLowerCase().includes(t));
}

export function plain(v: OtlpValue | undefined): string {
  if (!v) return "";
  if (v.stringValue !== undefined) return v.stringValue;
  if (v.intValue !== undefined) return String(v.intValue);
  if (v.doubleValue !== undefined) return String(v.doubleValue);
  if (v.boolValue !== undefined) return String(v.boolValue);
  if (v.bytesValue !== undefined) return v.bytesValue;
  if (v.arrayValue) return `[${(v.arrayValue.values ?? []).map(plain).join(", ")}]`;
  if (v.kvlistValue) return `{${(v.kvlistValue.values ?? []).map((a) => `${a.key}: ${plain(a.value)}`).join(", ")}}`;
  return "";
}

export interface Gap {
  readonly startOffsetNs: number;
  readonly durationNs: number;
}

/** Where a span that has children has none: at least `minNs` long. */
export function gapsOf(spans: readonly Span[], at: number, minNs: number): Gap[] {
  const own = spans[at];
  if (!own) return [];
  const out: Gap[] = [];
  let end = own.startOffsetNs;
  let children = 0;
  const kids: Span[] = [];
  for (let i = at + 1; i < spans.length; i++) {
    const s = spans[i];
    if (!s || s.depth <= own.depth) break;
    if (s.depth === own.depth + 1) kids.push(s);
  }
  kids.sort((a, b) => a.startOffsetNs - b.startOffsetNs);
  for (const s of kids) {
    children++;
    if (s.startOffsetNs - end >= minNs) out.push({ startOffsetNs: end, durationNs: s.startOffsetNs - end });
    end = Math.max(end, s.startOffsetNs + s.durationNs);
  }
  const last = own.startOffsetNs + own.durationNs;
  if (last - end >= minNs) out.push({ startOffsetNs: end, durationNs: last - end });
  return children === 0 ? [] : out;
}

export interface SpanGroup {
  service: string;
  name: string;
  count: number;
  errors: number;
  totalNs: number;
  maxNs: number;
  criticalNs: number;
}

export function groupsOf(spans: readonly Span[]): SpanGroup[] {
  const groups = new Map<string, SpanGroup>();
  for (const s of spans) {
    const key = `${s.service}\0${s.name}`;
    let g = groups.get(key);
    if (!g) {
      g = { service: s.service, name: s.name, count: 0, errors: 0, totalNs: 0, maxNs: 0, criticalNs: 0 };
      groups.set(key, g);
    }
    g.count++;
    g.errors += s.status === "STATUS_CODE_ERROR" ? 1 : 0;
    g.totalNs += s.durationNs;
    g.maxNs = Math.max(g.maxNs, s.durationNs);
    g.criticalNs += s.criticalNs;
  }
  return [...groups.values()];
}

/** The time ranges of a span in which none of its children ran; the whole of one that has none. */
export function ownStretches(spans: readonly Span[], at: number): Gap[] {
  const own = spans[at];
  if (!own) return [];
  const gaps = gapsOf(spans, at, 1);
  const next = spans[at + 1];
  const hasChildren = next !== undefined && next.depth > own.depth;
  return hasChildren ? gaps : [{ startOffsetNs: own.startOffsetNs, durationNs: own.durationNs }];
}

export interface Piece {
  readonly part: string;
  readonly startOffsetNs: number;
  readonly durationNs: number;
}

/** Parts laid into these ranges one after another, by size: when each of them was is not known. Where they are more than
 * the ranges hold (children at the same time), they are drawn in proportion. */
export function piecesIn(stretches: readonly Gap[], parts: readonly { part: string; ns: number }[]): Piece[] {
  const room = stretches.reduce((n, g) => n + g.durationNs, 0);
  const sum = parts.reduce((n, p) => n + p.ns, 0);
  if (room <= 0 || sum <= 0) return [];
  const scale = sum > room ? room / sum : 1;
  const out: Piece[] = [];
  let k = 0;
  let used = 0;
  for (const p of parts) {
    let left = p.ns * scale;
    while (left > 1e-6 && k < stretches.length) {
      const g = stretches[k];
      if (!g) break;
      const free = g.durationNs - used;
      const take = Math.min(left, free);
      if (take > 0) out.push({ part: p.part, startOffsetNs: g.startOffsetNs + used, durationNs: take });
      left -= take;
      used += take;
      if (used >= g.durationNs - 1e-6) {
        k++;
        used = 0;
      }
    }
  }
  return out;
}
