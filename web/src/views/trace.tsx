import { useCallback, useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Span, Trace } from "../api/types";
import { useAsk } from "../api/use_ask";
import { duration, moment, nanoToMs } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { Name } from "../parts/name";
import { AskedFrame } from "../parts/states";
import { type Range } from "../state/range";
import { change, params } from "../state/url";
import { useUrl } from "../state/use_url";
import { ClockNotes } from "../trace/clocks";
import { Minimap, type Zoom } from "../trace/minimap";
import { spanMatches, type Gap } from "../trace/rows";
import { SpanCompare } from "../trace/span_compare";
import { SpanDetails } from "../trace/span_details";
import { SpanProfilePane } from "../trace/span_profile";
import { TraceFlamePane } from "../trace/trace_flame";
import { TraceStats } from "../trace/trace_stats";
import { Waterfall } from "../trace/waterfall";

const PANES: readonly (readonly [string, string])[] = [
  ["profile", "Profile"],
  ["details", "Details"],
  ["compare", "Against others like it"],
];
const TABS: readonly (readonly [string, string])[] = [
  ["", "Waterfall"],
  ["flame", "Flame graph"],
  ["stats", "Statistics"],
];

function zoomOf(text: string | undefined): Zoom {
  const [from = NaN, until = NaN] = (text ?? "").split("-").map(Number);
  return from >= 0 && until <= 1 && from < until ? { from, until } : { from: 0, until: 1 };
}

/** A range around the trace, for questions about spans like its own. */
function around(trace: Trace, range: Range): Range {
  const at = nanoToMs(trace.startTimeUnixNano);
  return { fromMs: Math.min(range.fromMs, at - 1800e3), untilMs: Math.max(range.untilMs, at + 60e3) };
}

function SidePane(props: { trace: Trace; span: Span; range: Range }) {
  const url = useUrl();
  const pane = url["pane"] ?? "details";
  const { trace, span } = props;
  return (
    <aside class="side" aria-label="The chosen span">
      <div class="side-head row">
        <Name text={span.name} class="strong" />
        <Name text={span.service} class="faint" />
        <span>{duration(span.durationNs)}</span>
        <span class="spring" />
        <button type="button" aria-label="Close" onClick={() => change({ span: "", pane: "", type: "", self: "", part: "", gap: "", fz: "" })}>
          ✕
        </button>
      </div>
      <div class="tabs" role="tablist" aria-label="About the span">
        {PANES.map(([key, words]) => (
          <button type="button" role="tab" key={key} aria-selected={pane === key} onClick={() => change({ pane: key, fz: "" })}>
            {words}
          </button>
        ))}
      </div>
      <div class="side-body" role="tabpanel">
        {pane === "profile" && <SpanProfilePane traceId={trace.traceId} span={span} />}
        {pane === "details" && <SpanDetails trace={trace} span={span} />}
        {pane === "compare" && <SpanCompare traceId={trace.traceId} span={span} range={around(trace, props.range)} />}
      </div>
    </aside>
  );
}

function Loaded(props: { trace: Trace; range: Range }) {
  const url = useUrl();
  const { trace } = props;
  const zoom = useMemo(() => zoomOf(url["tz"]), [url["tz"]]);
  const search = url["ts"] ?? "";
  const span = trace.spans.find((s) => s.spanId === url["span"]);
  const tab = url["tab"] ?? "";
  const found = useMemo(() => (search === "" ? 0 : trace.spans.filter((s) => spanMatches(s, search)).length), [trace, search]);
  const errors = useMemo(() => trace.spans.filter((s) => s.status === "STATUS_CODE_ERROR").length, [trace]);
  const services = useMemo(() => new Set(trace.spans.map((s) => s.service)).size, [trace]);
  const onSelect = useCallback((s: Span) => change({ span: s.spanId, pane: params()["pane"] ?? "details", part: "", gap: "", fz: "" }), []);
  const onProfile = useCallback((s: Span) => change({ span: s.spanId, pane: "profile", self: "", part: "", gap: "", fz: "" }), []);
  const onGap = useCallback((s: Span, gap: Gap) => {
    const from = Math.max(0, gap.startOffsetNs - s.startOffsetNs);
    change({ span: s.spanId, pane: "profile", self: "1", part: "", gap: `${String(from)}-${String(from + gap.durationNs)}`, fz: "" });
  }, []);
  const folded = useMemo(() => new Set((url["fold"] ?? "").split(".").filter((id) => id !== "")), [url["fold"]]);
  const onFold = useCallback((id: string) => {
    const next = new Set((params()["fold"] ?? "").split(".").filter((s) => s !== ""));
    if (!next.delete(id)) next.add(id);
    change({ fold: [...next].join(".") });
  }, []);
  const onZoom = useCallback((z: Zoom) => change({ tz: z.from <= 0 && z.until >= 1 ? "" : `${z.from.toFixed(4)}-${z.until.toFixed(4)}` }), []);
  const root = trace.spans[0];
  return (
    <>
      <div class="trace-head row">
        <h1>
          <Name text={root?.name ?? "trace"} />
        </h1>
        <span class="faint mono">{trace.traceId}</span>
        <CopyButton text={trace.traceId} />
        <span>
          {moment(nanoToMs(trace.startTimeUnixNano))} · <b>{duration(trace.durationNs)}</b> · {trace.spans.length} spans · {services} services
          {errors > 0 && <span class="bad"> · {errors} errors</span>}
        </span>
      </div>
      {trace.isPartial && <p class="note warn">This trace is larger than a query may hold: some of its spans are not shown.</p>}
      {!trace.isExact && <p class="note warn">A damaged block may have held more of this trace.</p>}
      <ClockNotes clocks={trace.clocks} more={trace.moreClocks} />
      <div class="row trace-bar">
        <div class="tabs" role="tablist" aria-label="The trace as">
          {TABS.map(([key, words]) => (
            <button type="button" role="tab" key={key} aria-selected={tab === key} onClick={() => change({ tab: key, fz: "" })}>
              {words}
            </button>
          ))}
        </div>
        {tab === "" && (
          <>
            <input type="search" placeholder="Find spans" aria-label="Find spans" value={search} onInput={(e) => change({ ts: e.currentTarget.value }, true)} />
            {search !== "" && <span role="status">{found} found</span>}
            {url["tz"] !== undefined && (
              <button type="button" onClick={() => change({ tz: "" })}>
                Whole trace
              </button>
            )}
            <span class="faint">
              <span class="critical-key" /> critical path {duration(trace.criticalNs)}
            </span>
          </>
        )}
      </div>
      {tab === "flame" && <TraceFlamePane traceId={trace.traceId} />}
      {tab === "stats" && <TraceStats trace={trace} />}
      {tab === "" && (
        <div class={span ? "trace-split with-side" : "trace-split"}>
          <div class="trace-left">
            <Minimap trace={trace} zoom={zoom} onZoom={onZoom} />
            <Waterfall trace={trace} zoom={zoom} selected={span?.spanId ?? ""} search={search} onSelect={onSelect} onProfile={onProfile} onGap={onGap} folded={folded} onFold={onFold} onZoom={onZoom} />
          </div>
          {span && <SidePane trace={trace} span={span} range={props.range} />}
        </div>
      )}
    </>
  );
}

export function TraceView(props: { range: Range }) {
  const url = useUrl();
  const id = url["id"] ?? "";
  const path = `/api/v1/trace/${encodeURIComponent(id)}`;
  const trace = useAsk<Trace>(id === "" ? "" : path, (s) => get(path, {}, s), true);
  if (id === "") return <p class="state">Which trace? Open one from a search.</p>;
  return (
    <section class="trace" aria-label="Trace">
      <AskedFrame asked={trace}>{(t) => <Loaded trace={t} range={props.range} />}</AskedFrame>
    </section>
  );
}
