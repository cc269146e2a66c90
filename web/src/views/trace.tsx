import { useCallback, useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Services, Span, Trace } from "../api/types";
import { useAsk } from "../api/use_ask";
import { said, visible } from "../format/safe_text";
import { countOf, duration, ESTIMATE, moment, nanoToMs, percent } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { Fig } from "../parts/figure";
import { Icon } from "../parts/icon";
import { Name } from "../parts/name";
import { Segment } from "../parts/segment";
import { ServiceMark } from "../parts/service_mark";
import { Split } from "../parts/split";
import { AskedFrame, Empty } from "../parts/states";
import { useHead } from "../state/head";
import { asked, type Range } from "../state/range";
import { logsAddress } from "../state/links";
import { change, params } from "../state/url";
import { useUrl } from "../state/use_url";
import { ClockNotes } from "../trace/clocks";
import { TraceKeep } from "../trace/keep_marks";
import { Minimap, type Zoom } from "../trace/minimap";
import { mostWaitedFor, orphans, spanMatches, type Gap } from "../trace/rows";
import { SpanCompare } from "../trace/span_compare";
import { SpanDetails } from "../trace/span_details";
import { SpanSource } from "../trace/span_source";
import { TraceFlamePane } from "../trace/trace_flame";
import { TraceStats } from "../trace/trace_stats";
import { useLedgers } from "../trace/use_ledgers";
import { Waterfall } from "../trace/waterfall";
import { PartLegend } from "../why/parts";
import { withoutIntervals } from "../why/causes";
import { Sentence } from "../why/sentence";
import { SpanWhy } from "../why/span_why";
import { useExplain } from "../why/use_explain";

const PANES: readonly (readonly [string, string])[] = [
  ["why", "Why slow?"],
  ["details", "Details"],
  ["compare", "Against others"],
  ["source", "Source"],
];
const TABS: readonly (readonly [string, string])[] = [
  ["", "Waterfall"],
  ["flame", "Flame"],
  ["stats", "Table"],
];

function zoomOf(text: string | undefined): Zoom {
  const [from = NaN, until = NaN] = (text ?? "").split("-").map(Number);
  return from >= 0 && until <= 1 && from < until ? { from, until } : { from: 0, until: 1 };
}

/** A range around the trace, for queries about spans like its own. */
function around(trace: Trace, range: Range): Range {
  const at = nanoToMs(trace.startTimeUnixNano);
  return { fromMs: Math.min(range.fromMs, at - 1800e3), untilMs: Math.max(range.untilMs, at + 60e3) };
}

/** Of the server's configuration or this browser; none: there is no tab. */
function LogsLink(props: { trace: Trace; span: Span }) {
  const href = logsAddress(props.trace, props.span);
  if (href === "") return null;
  return (
    <a class="tab-link" href={href} target="_blank" rel="noopener noreferrer">
      Logs ↗
    </a>
  );
}

function SidePane(props: { trace: Trace; span: Span; range: Range; pane: string }) {
  const { trace, span, pane } = props;
  const close = () => change({ span: "", pane: "none", focus: "", type: "", self: "", part: "", gap: "", fz: "", mode: "", brief: "" });
  return (
    <aside class="side card" aria-label="The chosen span">
      <div class="side-head row one">
        <button type="button" class="btn icon phone-back" aria-label="Back to the trace" onClick={close}>
          <Icon name="back" />
        </button>
        <ServiceMark name={span.service} />
        <Name text={span.name} class="strong" />
        <Name text={span.service} class="faint" />
        <span class="spring" />
        <span class="f3 sm nw">{percent(span.criticalNs / (trace.criticalNs || 1))} of the critical path</span>
        <button type="button" class="btn icon ghost s-hide" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div class="tabs">
        <div class="tab-list" role="tablist" aria-label="About the span">
        {PANES.map(([key, words]) => (
          <button type="button" role="tab" key={key} aria-selected={pane === key} onClick={() => change({ pane: key, span: span.spanId, fz: "" })}>
            {words}
          </button>
        ))}
        </div>
        <LogsLink trace={trace} span={span} />
      </div>
      <div class="side-body" role="tabpanel">
        {pane === "why" && <SpanWhy traceId={trace.traceId} traceNs={trace.durationNs} span={span} />}
        {pane === "details" && <SpanDetails trace={trace} span={span} />}
        {pane === "source" && <SpanSource traceId={trace.traceId} span={span} />}
        {pane === "compare" && <SpanCompare traceId={trace.traceId} span={span} range={around(trace, props.range)} />}
      </div>
    </aside>
  );
}

/** "~15× the median": against other requests of the root's operation. */
function AgainstMedian(props: { trace: Trace; range: Range }) {
  const root = props.trace.spans[0];
  const q = { service: root?.service ?? "", ...asked(around(props.trace, props.range)) };
  const services = useAsk<Services>(root ? `median ${JSON.stringify(q)}` : "", (s) => get("/api/v1/services", q, s));
  const op = services.data?.services[0]?.operations.find((o) => o.operation === root?.name);
  if (!op || op.spans < 20 || !(op.p50Ns > 0)) return null;
  const times = props.trace.durationNs / op.p50Ns;
  if (times < 1.5) return null;
  return (
    <span class={times >= 3 ? "chip bad" : "chip warn"} title={`The median of ${countOf(op.spans, "span")} is ${ESTIMATE}${duration(op.p50Ns)}`}>
      {ESTIMATE}
      {times >= 10 ? Math.round(times) : times.toFixed(1)}× the median
    </span>
  );
}

function TitleRow(props: { trace: Trace; range: Range }) {
  const { trace } = props;
  const root = trace.spans[0];
  const explain = useExplain({ trace: trace.traceId });
  const errors = useMemo(() => trace.spans.filter((s) => s.status === "STATUS_CODE_ERROR").length, [trace]);
  const services = useMemo(() => new Set(trace.spans.map((s) => s.service)).size, [trace]);
  return (
    <div class="trace-title">
      <span class="t-name">
        <Name text={root?.name ?? "trace"} />
      </span>
      <span class="t-time">
        <Fig text={duration(trace.durationNs)} />
      </span>
      <AgainstMedian trace={trace} range={props.range} />
      {errors > 0 && (
        <span class="chip bad">
          {errors} {errors === 1 ? "error" : "errors"}
        </span>
      )}
      <span class="t-says f2" data-answer title={visible(explain.data?.sentence ?? "")}>
        {explain.data && <Sentence text={withoutIntervals(explain.data.sentence.replace(/^[^:]*: /, ""))} parts={explain.data.parts} />}
        {explain.error && <span class="bad">the explanation could not be loaded: {visible(explain.error.message)}</span>}
      </span>
      <span class="f3 sm nw" title={moment(nanoToMs(trace.startTimeUnixNano))}>
        {moment(nanoToMs(trace.startTimeUnixNano)).slice(11, 23)} · {countOf(trace.spans.length, "span")} · {countOf(services, "service")}
      </span>
      <span class="mono f3 sm s-hide" title={trace.traceId}>
        {trace.traceId.slice(0, 8)}…
      </span>
      <CopyButton text={trace.traceId} />
      <TraceKeep traceId={trace.traceId} />
    </div>
  );
}

/** Next and previous of the spans that were searched for. */
function Matches(props: { found: readonly Span[]; selected: string }) {
  const indexOf = (spanId: string) => props.found.findIndex((s) => s.spanId === spanId);
  const go = (step: number) => {
    const n = props.found.length;
    // The address has the newest selection: a second key may come before the page is drawn with the first.
    const from = indexOf(params()["span"] ?? "");
    const to = props.found[((from < 0 ? (step > 0 ? -1 : 0) : from) + step + n) % n];
    if (to) change({ span: to.spanId, focus: "", pane: params()["pane"] ?? "" });
  };
  const at = indexOf(props.selected);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if ((e.key !== "[" && e.key !== "]") || (e.target instanceof Element && e.target.closest("textarea,select,dialog"))) return;
      if (props.found.length === 0) return;
      e.preventDefault();
      go(e.key === "]" ? 1 : -1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <>
      <span class="sm f2 nw" role="status">
        {at >= 0 ? `${String(at + 1)} of ` : ""}
        {props.found.length} found
      </span>
      <span class="join">
        <button type="button" class="btn s" disabled={props.found.length === 0} aria-label="Previous match" title="Previous match: [" onClick={() => go(-1)}>
          ↑
        </button>
        <button type="button" class="btn s" disabled={props.found.length === 0} aria-label="Next match" title="Next match: ]" onClick={() => go(1)}>
          ↓
        </button>
      </span>
    </>
  );
}

const listOf = (text: string | undefined) => new Set((text ?? "").split(".").filter((id) => id !== ""));
const toggled = (text: string | undefined, id: string) => {
  const next = listOf(text);
  if (!next.delete(id)) next.add(id);
  return [...next].join(".");
};

/** Spans whose children all are of their own service: what a fold by service hides is inside one service. */
function foldsByService(spans: readonly Span[]): string {
  const out: string[] = [];
  const stack: Span[] = [];
  const crosses = new Set<string>();
  for (const s of spans) {
    while (stack.length > 0 && (stack[stack.length - 1]?.depth ?? 0) >= s.depth) stack.pop();
    for (const up of stack) if (up.service !== s.service) crosses.add(up.spanId);
    stack.push(s);
  }
  spans.forEach((s, i) => {
    const next = spans[i + 1];
    if (next && next.depth > s.depth && !crosses.has(s.spanId)) out.push(s.spanId);
  });
  return out.slice(0, 400).join(".");
}

function Loaded(props: { trace: Trace; range: Range }) {
  const url = useUrl();
  const { trace } = props;
  const zoom = useMemo(() => zoomOf(url["tz"]), [url["tz"]]);
  const search = url["ts"] ?? "";
  const isPhone = useMemo(() => innerWidth <= 640, []);
  // Old links say "profile" for what is the first tab now.
  const pane = url["pane"] === "profile" || url["pane"] === undefined ? "why" : url["pane"];
  const best = useMemo(() => mostWaitedFor(trace.spans), [trace]);
  const span = trace.spans.find((s) => s.spanId === url["span"]) ?? (pane === "none" || isPhone ? undefined : best);
  const tab = url["tab"] ?? "";
  const found = useMemo(() => (search === "" ? [] : trace.spans.filter((s) => spanMatches(s, search))), [trace, search]);
  const { asked: ledgers, of } = useLedgers(trace.traceId, trace.hotType !== undefined);
  const byService = (url["colour"] ?? (trace.hotType === undefined ? "service" : "time")) === "service";
  const has = useMemo(() => new Set([...of.values()].flatMap((l) => Object.keys(l.parts))), [of]);
  const missing = useMemo(() => orphans(trace.spans), [trace]);
  const hasRoot = useMemo(() => trace.spans.some((s) => s.parentSpanId === ""), [trace]);
  const plain = { focus: "", part: "", gap: "", fz: "", type: "", mode: "", self: "" };
  const onSelect = useCallback((s: Span) => change({ ...plain, span: s.spanId, pane: params()["pane"] === "none" ? "" : params()["pane"] }), []);
  const onWhy = useCallback((s: Span) => change({ ...plain, span: s.spanId, pane: "why" }), []);
  const onGap = useCallback((s: Span, gap: Gap) => {
    const from = Math.max(0, gap.startOffsetNs - s.startOffsetNs);
    change({ ...plain, span: s.spanId, pane: "why", self: "1", gap: `${String(from)}-${String(from + gap.durationNs)}` });
  }, []);
  const folded = useMemo(() => listOf(url["fold"]), [url["fold"]]);
  const opened = useMemo(() => listOf(url["runs"]), [url["runs"]]);
  const onFold = useCallback((id: string) => change({ fold: toggled(params()["fold"], id) }), []);
  const onRun = useCallback((id: string) => change({ runs: toggled(params()["runs"], id) }), []);
  const onZoom = useCallback((z: Zoom) => change({ tz: z.from <= 0 && z.until >= 1 ? "" : `${z.from.toFixed(4)}-${z.until.toFixed(4)}` }), []);
  const root = trace.spans[0];
  useHead(`${visible(root?.name ?? "trace")} ${duration(trace.durationNs)}`, root?.name ?? "trace");
  const waterfall = (
    <div class="card trace-left">
      <div class="toolbar">
        <Segment label="The trace as" value={tab} of={TABS} onChange={(t) => change({ tab: t, fz: "" })} />
        {tab === "" && (
          <>
            <input type="search" class="filter" placeholder="Find spans" aria-label="Find spans" value={search} onInput={(e) => change({ ts: e.currentTarget.value }, true)} />
            {search !== "" && <Matches found={found} selected={url["span"] ?? ""} />}
            {url["tz"] !== undefined && (
              <button type="button" class="btn s" onClick={() => change({ tz: "" })}>
                Whole trace
              </button>
            )}
            <span class="spring" />
            <span class="f3 sm opt">Colour</span>
            <Segment label="Colour" value={byService ? "service" : "time"} of={[["time", "Time"], ["service", "Service"]]} onChange={(c) => change({ colour: c }, true)} />
            {trace.spans.length > 50 && (
              <button type="button" class="btn s" aria-pressed={url["fold"] !== undefined} title="Spans inside one service become one row" onClick={() => change({ fold: url["fold"] === undefined ? foldsByService(trace.spans) : "" })}>
                Fold by service
              </button>
            )}
          </>
        )}
      </div>
      {tab === "flame" && <TraceFlamePane trace={trace} />}
      {tab === "stats" && <TraceStats trace={trace} />}
      {tab === "" && (
        <>
          <Minimap trace={trace} zoom={zoom} onZoom={onZoom} />
          <Waterfall
            trace={trace}
            zoom={zoom}
            selected={span?.spanId ?? ""}
            search={search}
            byService={byService}
            ledgers={of}
            onSelect={onSelect}
            onWhy={onWhy}
            onGap={onGap}
            folded={folded}
            onFold={onFold}
            opened={opened}
            onRun={onRun}
            onZoom={onZoom}
          />
          <p class="legend wfoot">
            {ledgers.error && <span class="bad">The time breakdowns failed: {visible(ledgers.error.message)}</span>}
            {!byService && of.size > 0 && <PartLegend has={has} />}
            {!byService && of.size > 0 && (
              <span>
                <i class="thin-key" aria-hidden="true" /> child spans
              </span>
            )}
            <span>
              <i class="critical-key" aria-hidden="true" /> critical path {duration(trace.criticalNs)}
            </span>
          </p>
        </>
      )}
    </div>
  );
  return (
    <>
      <TitleRow trace={trace} range={props.range} />
      {trace.isPartial && <p class="note warn">This trace exceeds the memory limit of a query: some of its spans are not shown.</p>}
      {!trace.isExact && <p class="note warn">A damaged block may have held more of this trace.</p>}
      {trace.note !== undefined && <p class="note warn">{said(trace.note)}</p>}
      {missing > 0 && (
        <p class="note warn">
          {hasRoot ? `The parents of ${String(missing)} spans were not received: these spans are shown at the top.` : "The root of this trace was not received: its spans are shown at the top, and its duration covers only what was received."}
        </p>
      )}
      <ClockNotes clocks={trace.clocks} more={trace.moreClocks} />
      {tab === "" ? <Split left={waterfall} right={span ? <SidePane trace={trace} span={span} range={props.range} pane={pane} /> : undefined} /> : waterfall}
    </>
  );
}

/** A span whose trace nobody named: the server finds it. */
function BySpan(props: { span: string }) {
  const found = useAsk<{ traceId: string }>(`of span ${props.span}`, (s) => get(`/api/v1/spans/-/${encodeURIComponent(props.span)}/ledger`, {}, s), true);
  const id = found.data?.traceId;
  useEffect(() => {
    if (id !== undefined) change({ id, pane: "why" }, true);
  }, [id]);
  return <AskedFrame what="the trace of this span" asked={found}>{() => null}</AskedFrame>;
}

export function TraceView(props: { range: Range }) {
  const url = useUrl();
  const id = url["id"] ?? "";
  const path = `/api/v1/trace/${encodeURIComponent(id)}`;
  const trace = useAsk<Trace>(id === "" || id === "-" ? "" : path, (s) => get(path, {}, s), true);
  useHead("Trace", id === "" ? "" : "Trace");
  if (id === "") return <Empty><p>No trace selected. Open one from a search, or paste its id above.</p></Empty>;
  return (
    <section class="trace" aria-labelledby="page-title">
      {id === "-" ? <BySpan span={url["span"] ?? ""} /> : <AskedFrame what="the trace" asked={trace}>{(t) => <Loaded trace={t} range={props.range} />}</AskedFrame>}
    </section>
  );
}
