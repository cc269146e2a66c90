// One span against others like it: same service and name, the fast ones.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Found, Span, SpanProfile } from "../api/types";
import { useAsk } from "../api/use_ask";
import { FlameGraph } from "../flame/flame_graph";
import { diffOf } from "../flame/tree";
import { amount, duration, measureOf } from "../format/units";
import { ViewLink } from "../parts/link";
import { AskedFrame } from "../parts/states";
import { askedSeconds, type Range } from "../state/range";

const READ = 100;

interface Pair {
  other: SpanProfile;
  own: SpanProfile;
  found: number;
  /** There may be more: only the newest traces were read. */
  isPart: boolean;
}

/** The profiles of this span and of the quickest like it that has samples. */
async function ask(traceId: string, span: Span, range: Range, signal: AbortSignal): Promise<{ data: Pair | undefined; partial: string }> {
  const q = `{ resource.service.name = ${JSON.stringify(span.service)} && name = ${JSON.stringify(span.name)} && duration < ${String(Math.max(1, span.durationNs))}ns }`;
  const own = get<SpanProfile>(`/api/v1/spans/${traceId}/${span.spanId}/profile`, {}, signal);
  const found = await get<Found>("/api/search", { q, limit: String(READ), spss: "5", ...askedSeconds(range) }, signal);
  const spans = (found.data.traces ?? []).flatMap((t) => (t.spanSets ?? (t.spanSet ? [t.spanSet] : [])).flatMap((s) => s.spans.map((x) => ({ trace: t.traceID, ...x }))));
  spans.sort((a, b) => Number(a.durationNanos) - Number(b.durationNanos));
  // The middle of the faster half represents "fast"; the very fastest may have done nothing.
  const tries = [0.25, 0.5, 0.75, 0.1].map((f) => spans[Math.floor(f * spans.length)]);
  for (const s of tries) {
    if (!s) continue;
    const other = await get<SpanProfile>(`/api/v1/spans/${s.trace}/${s.spanID}/profile`, {}, signal);
    if (other.data.profile.total > 0) return { data: { other: other.data, own: (await own).data, found: spans.length, isPart: (found.data.traces ?? []).length >= READ }, partial: found.partial };
  }
  return { data: undefined, partial: "" };
}

export function SpanCompare(props: { traceId: string; span: Span; range: Range }) {
  const { traceId, span, range } = props;
  const pair = useAsk<Pair | undefined>(`${traceId} ${span.spanId} ${String(range.fromMs)} ${String(range.untilMs)}`, (s) => ask(traceId, span, range, s), true);
  const tree = useMemo(() => (pair.data ? diffOf(pair.data.other.profile, pair.data.own.profile) : undefined), [pair.data]);
  const q = `{ resource.service.name = ${JSON.stringify(span.service)} && name = ${JSON.stringify(span.name)} }`;
  return (
    <AskedFrame what="the comparison" asked={{ ...pair, data: pair.isLoading ? undefined : { pair: pair.data } }} empty={(d) => (d.pair ? undefined : <p>No faster span of this name with samples in the time range.</p>)}>
      {({ pair: p }) =>
        p && (
          <div class="span-profile pad-top">
            <p>
              This span, {duration(p.own.durationNs)} and {amount(p.own.profile.total, measureOf(p.own.profile))} sampled, against{" "}
              <ViewLink to={{ view: "trace", id: p.other.traceId, span: p.other.spanId, pane: "why" }}>a fast one</ViewLink>, {duration(p.other.durationNs)} and{" "}
              {amount(p.other.profile.total, measureOf(p.other.profile))} sampled; {p.isPart ? `${String(p.found)} or more` : p.found} faster ones were found.{" "}
              <ViewLink to={{ view: "compare", q }}>Compare all slow with all fast ones</ViewLink>
            </p>
            {tree && <FlameGraph tree={tree} label="Difference to a fast span" service={span.service} />}
          </div>
        )
      }
    </AskedFrame>
  );
}
