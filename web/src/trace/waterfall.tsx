import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Span, Trace } from "../api/types";
import { roundTicks } from "../charts/axis";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, samples, value } from "../format/units";
import { Fig } from "../parts/figure";
import { memo } from "../parts/memo";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { inOrder, partClass } from "../why/parts";
import type { Zoom } from "./minimap";
import { ownStretches, piecesIn, rowsOf, spanMatches, type Gap, type Row } from "./rows";
import type { SpanLedger } from "./use_ledgers";

export const ROW = 28;
export const ROW_PHONE = 47;
const EXTRA = 8;

/** What the parts of the time breakdown are called here. */
export const PART_WORDS: Readonly<Record<string, string>> = {
  cpu: "running",
  gc: "garbage collection",
  run_queue: "waiting for a CPU",
  lock: "lock",
  disk: "disk",
  net: "network",
  io: "disk or network",
  sleep: "sleep",
  child: "child spans",
  remote: "remote child spans",
  unknown: "unknown",
};

interface Props {
  trace: Trace;
  zoom: Zoom;
  selected: string;
  search: string;
  /** Bars by service, not by what the time went to */
  byService: boolean;
  ledgers: ReadonlyMap<string, SpanLedger>;
  onSelect: (span: Span) => void;
  onWhy: (span: Span) => void;
  /** What the span itself did in a range without children */
  onGap: (span: Span, gap: Gap) => void;
  /** Spans whose children have no rows */
  folded: ReadonlySet<string>;
  onFold: (spanId: string) => void;
  /** Runs of like siblings that were opened */
  opened: ReadonlySet<string>;
  onRun: (spanId: string) => void;
  onZoom: (z: Zoom) => void;
}

function left(ns: number, trace: Trace, z: Zoom): number {
  return ((ns / (trace.durationNs || 1) - z.from) / (z.until - z.from)) * 100;
}

const percentText = (n: number) => `${n.toFixed(3)}%`;
/** Where a bar begins: what is short at the end of the trace is still inside. */
const leftText = (n: number) => `min(${percentText(n)}, calc(100% - 3px))`;

/** "95 % waiting for a CPU", "regexMatch 41 %": the largest part of a span's own time, in a few words. `roomNs`: how long no
 * child span ran; a wait for a call is longer, and the call's own row says what that is. */
export function hottest(span: Span, ledger: SpanLedger | undefined, unit: string | undefined, roomNs = Infinity): string {
  const own = ledger ? Object.entries(ledger.parts).filter(([p]) => p !== "child" && p !== "remote" && p !== "unknown") : [];
  own.sort((a, b) => b[1] - a[1]);
  const scale = Math.min(1, roomNs / Math.max(1, own.reduce((n, [, v]) => n + v, 0)));
  const part = own[0]?.[0] ?? "";
  const ns = (own[0]?.[1] ?? 0) * scale;
  const whole = span.durationNs || 1;
  const mark = ledger?.estimates.includes(part) === true ? ESTIMATE : "";
  const { hot } = span;
  if (span.fewSamples !== undefined && (part === "" || part === "cpu")) return samples(span.fewSamples);
  if (hot && hot.isWithChildren !== true && (part === "" || part === "cpu") && unit === "nanoseconds") return `${visible(hot.function)} ${percent(hot.value / whole)}`;
  if (part !== "" && ns / whole >= 0.02) return `${mark}${percent(ns / whole)} ${PART_WORDS[part] ?? part}`;
  if (hot) return `${visible(hot.function)} ${hot.isWithChildren === true ? "with children" : value(hot.value, unit ?? "")}`;
  return span.estimatedSamples !== undefined ? `${ESTIMATE}${samples(span.estimatedLooks ?? span.estimatedSamples)}` : "";
}

/** "running ~3 ms, lock 1 ms"; of a few samples their number and no time. */
export function ledgerWords(span: Span, ledger: SpanLedger): string {
  const time = (part: string, ns: number) => (part === "cpu" && span.fewSamples !== undefined ? samples(span.fewSamples) : `${ledger.estimates.includes(part) ? ESTIMATE : ""}${duration(ns)}`);
  return Object.entries(ledger.parts).sort((x, y) => y[1] - x[1]).map(([p, ns]) => `${PART_WORDS[p] ?? p} ${time(p, ns)}`).join(", ");
}

interface BarProps {
  row: Row;
  trace: Trace;
  zoom: Zoom;
  ledger: SpanLedger | undefined;
  byService: boolean;
  onWhy: (s: Span) => void;
  onGap: (s: Span, gap: Gap) => void;
}

function Bar(props: BarProps) {
  const { row, trace, zoom } = props;
  const { span } = row;
  const last = row.run > 0 ? (trace.spans[row.at + row.run - 1] ?? span) : span;
  const endNs = Math.max(span.startOffsetNs + span.durationNs, last.startOffsetNs + last.durationNs);
  const from = left(span.startOffsetNs, trace, zoom);
  const until = left(endNs, trace, zoom);
  const stretches = useMemo(() => (row.below < 2000 ? ownStretches(trace.spans, row.at) : []), [trace, row]);
  const pieces = useMemo(() => {
    if (props.byService || !props.ledger) return [];
    const own = Object.entries(props.ledger.parts).filter(([p]) => p !== "child" && p !== "remote").map(([part, ns]) => ({ part, ns }));
    return piecesIn(stretches, inOrder(own));
  }, [props.ledger, stretches, props.byService]);
  if (until < 0 || from > 100) return null;
  const a = Math.max(from, 0);
  const width = Math.max(Math.min(until, 100) - a, 0);
  const words = `${duration(span.durationNs)}${span.criticalNs > 0 ? `, ${duration(span.criticalNs)} on the critical path` : ""}`;
  const said = props.ledger ? ledgerWords(span, props.ledger) : "";
  const inside = (x0: number, x1: number) => ({ left: leftText(Math.max(x0, 0)), width: percentText(Math.max(Math.min(x1, 100) - Math.max(x0, 0), 0)) });
  const hot = hottest(span, props.ledger, trace.hotUnit, row.below < 2000 ? stretches.reduce((n, g) => n + g.durationNs, 0) : undefined);
  const isError = span.status === "STATUS_CODE_ERROR";
  const isThin = !props.byService && pieces.length > 0;
  return (
    <>
      <button
        type="button"
        class={`bar-body${isError ? " error" : ""}${isThin ? " thin" : ""}`}
        style={{ left: leftText(a), width: percentText(width), ...(isThin ? {} : { background: props.byService || row.run > 0 ? serviceColor(span.service) : "var(--t-child)" }) }}
        tabIndex={-1}
        aria-label={`Why slow? ${visible(span.name)}, ${words}`}
        title={`${visible(span.name)}: ${words}${said === "" ? "" : `\n${said}`}${hot === "" ? "" : `\n${hot}`}${(span.hot?.file ?? "") === "" || !span.hot ? "" : `\n${visible(span.hot.function)} at ${visible(span.hot.file ?? "")}:${String(span.hot.line ?? 0)}`}`}
        onClick={(e) => {
          e.stopPropagation();
          props.onWhy(span);
        }}
      />
      {pieces.map((p) => {
        const x0 = left(p.startOffsetNs, trace, zoom);
        const x1 = left(p.startOffsetNs + p.durationNs, trace, zoom);
        return x1 < 0 || x0 > 100 ? null : <i key={`${p.part}${String(p.startOffsetNs)}`} class={`piece ${partClass(p.part)}`} style={inside(x0, x1)} />;
      })}
      {row.hasChildren &&
        trace.hotType !== undefined &&
        stretches
          .filter((g) => g.durationNs >= (trace.durationNs * (zoom.until - zoom.from)) / 50)
          .map((g) => {
            const x0 = left(g.startOffsetNs, trace, zoom);
            const x1 = left(g.startOffsetNs + g.durationNs, trace, zoom);
            if (x1 < 0 || x0 > 100) return null;
            const did = span.hot ? `${span.hot.isWithChildren === true ? "its and its children's" : "its own"} samples are mostly in ${visible(span.hot.function)} (${percent(span.hot.share)})` : "click for its own samples";
            return (
              <button
                type="button"
                key={g.startOffsetNs}
                class="gap"
                tabIndex={-1}
                style={inside(x0, x1)}
                aria-label={`${duration(g.durationNs)} of ${visible(span.name)} without a child span: code that ran`}
                title={`${duration(g.durationNs)} without a child span: ${did}`}
                onClick={(e) => {
                  e.stopPropagation();
                  props.onGap(span, g);
                }}
              />
            );
          })}
      {span.critical.map((c) => {
        const x0 = left(c.startOffsetNs, trace, zoom);
        const x1 = left(c.startOffsetNs + c.durationNs, trace, zoom);
        return x1 < 0 || x0 > 100 ? null : <span key={c.startOffsetNs} class="critical" style={inside(x0, x1)} />;
      })}
      {span.events.map((e, i) => {
        const x = left(Number(BigInt(e.timeUnixNano) - BigInt(trace.startTimeUnixNano)) + (span.clockShiftNs ?? 0), trace, zoom);
        return x < 0 || x > 100 ? null : <span key={i} class="event" title={`${visible(e.name)}, ${duration(Number(BigInt(e.timeUnixNano) - BigInt(span.startTimeUnixNano)))} after the span's start`} style={{ left: percentText(x) }} />;
      })}
      {hot !== "" && (
        <span class="bar-words" style={until <= 72 ? { left: percentText(Math.max(until, 0)), maxWidth: percentText(100 - Math.max(until, 0)) } : a >= 28 ? { right: percentText(100 - a), maxWidth: percentText(a) } : { display: "none" }}>
          {hot}
        </span>
      )}
    </>
  );
}

interface RowProps extends BarProps {
  isSelected: boolean;
  isMatch: boolean;
  top: number;
  onFold: (id: string) => void;
  onRun: (id: string) => void;
  onSelect: (s: Span) => void;
}

const SpanRow = memo(function SpanRow(props: RowProps) {
  const { row, trace } = props;
  const { span } = row;
  const isOrphan = span.depth === 0 && span.parentSpanId !== "";
  const canFold = row.hasChildren || row.run > 0;
  return (
    <div
      class={`span-row${props.isMatch ? " match" : ""}${span.isCritical ? " on-path" : ""}`}
      role="row"
      aria-selected={props.isSelected}
      aria-level={span.depth + 1}
      aria-expanded={canFold ? !row.isFolded && row.run === 0 : undefined}
      data-span={span.spanId}
      style={{ top: `${String(props.top)}px` }}
      onClick={() => props.onSelect(span)}
    >
      <div class="span-name" role="gridcell" style={{ paddingLeft: `${String(8 + Math.min(span.depth, 24) * 11)}px` }}>
        <button
          type="button"
          class="plain toggle"
          tabIndex={-1}
          disabled={!canFold}
          aria-label={row.isFolded || row.run > 0 ? "Unfold" : "Fold"}
          onClick={(e) => {
            e.stopPropagation();
            if (row.run > 0) props.onRun(span.spanId);
            else props.onFold(span.spanId);
          }}
        >
          {canFold ? (row.isFolded || row.run > 0 ? "▸" : "▾") : ""}
        </button>
        <ServiceMark name={span.service} />
        <span class="span-words" title={`${visible(span.name)} · ${visible(span.service)}`}>
          <Name text={span.name} /> <Name text={span.service} class="faint sm" />
        </span>
        {span.status === "STATUS_CODE_ERROR" && (
          <span class="chip bad" title={visible(span.statusMessage) || "error"}>
            error
          </span>
        )}
        {isOrphan && (
          <span class="chip warn" title={`Its parent ${span.parentSpanId} was not received`}>
            parent missing
          </span>
        )}
        {span.clockShiftNs !== undefined && <span class="chip" title={`Its host's clock was corrected by ${duration(Math.abs(span.clockShiftNs))}`}>clock</span>}
        {span.links.length > 0 && <span class="chip" title="Links to other spans: see Details">{span.links.length === 1 ? "link" : `${String(span.links.length)} links`}</span>}
        {row.isFolded && <span class="chip">+{row.below}</span>}
        {row.run > 0 && <span class="chip" title={`${String(row.run)} similar spans in a row`}>×{row.run}</span>}
      </div>
      <div class="span-time" role="gridcell">
        <Bar row={row} trace={trace} zoom={props.zoom} ledger={props.ledger} byService={props.byService} onWhy={props.onWhy} onGap={props.onGap} />
        <button
          type="button"
          class="btn s why-button"
          tabIndex={-1}
          aria-label={`Why slow? ${visible(span.name)}`}
          onClick={(e) => {
            e.stopPropagation();
            props.onWhy(span);
          }}
        >
          Why slow?
        </button>
      </div>
      <div class="span-length" role="gridcell">
        <Fig text={duration(span.durationNs)} />
      </div>
    </div>
  );
});

function Ruler(props: { trace: Trace; zoom: Zoom; ticks: readonly number[] }) {
  const { zoom: z, trace } = props;
  const most = Math.max(...props.ticks, 0);
  return (
    <div class="span-row ruler" role="row">
      <div class="span-name" role="columnheader">
        Span
      </div>
      <div class="span-time" role="columnheader">
        {props.ticks.map((ns) => {
          const at = left(ns, trace, z);
          return (
            <span key={ns} class="tick" style={{ left: percentText(at), transform: at < 3 ? "none" : at > 90 ? "translateX(-100%)" : "translateX(-50%)" }}>
              {ns === 0 ? "0" : duration(most > 0 && ns < 0 ? 0 : ns)}
            </span>
          );
        })}
      </div>
      <div class="span-length" role="columnheader">
        Duration
      </div>
    </div>
  );
}

/** Only the rows on screen exist: ten thousand spans scroll like ten. */
export function Waterfall(props: Props) {
  const { trace, zoom } = props;
  const [view, setView] = useState({ top: 0, height: 600, width: 0 });
  const box = useRef<HTMLDivElement>(null);
  const opened = props.search === "" ? props.opened : undefined;
  const rows = useMemo(() => rowsOf(trace.spans, props.folded, opened), [trace, props.folded, opened]);
  const at = rows.findIndex((r) => r.span.spanId === props.selected || (r.run > 0 && trace.spans.slice(r.at, r.at + r.run).some((s) => s.spanId === props.selected)));
  const firstMatch = useMemo(() => (props.search === "" ? -1 : rows.findIndex((r) => spanMatches(r.span, props.search))), [rows, props.search]);
  const rowHeight = view.width > 0 && view.width < 480 ? ROW_PHONE : ROW;

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setView((v) => ({ ...v, height: element.clientHeight, width: element.clientWidth })));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const reveal = (row: number) => {
    const element = box.current;
    if (!element || row < 0) return;
    const top = row * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * rowHeight - element.clientHeight;
  };
  useEffect(() => reveal(at), [props.selected]);
  // What was searched for stays in sight when the space around changes, else what is chosen.
  const chosen = rows[at];
  const isWanted = props.search === "" || (chosen !== undefined && spanMatches(chosen.span, props.search));
  useEffect(() => reveal(isWanted ? at : firstMatch), [view.height, rowHeight]);
  useEffect(() => reveal(firstMatch), [firstMatch]);

  const begin = Math.max(0, Math.floor(view.top / rowHeight) - EXTRA);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + EXTRA);
  const shown = rows.slice(begin, end);
  const ticks = useMemo(() => roundTicks(zoom.from * trace.durationNs, zoom.until * trace.durationNs, 5), [zoom, trace]);
  const fold = props.onFold;
  const onKey = (e: KeyboardEvent) => {
    if (e.target !== box.current || e.ctrlKey || e.metaKey || e.altKey) return;
    const row = rows[at];
    const select = (i: number) => {
      const to = rows[Math.max(0, Math.min(rows.length - 1, i))];
      if (to) props.onSelect(to.span);
    };
    if (e.key === "ArrowDown") select(at + 1);
    else if (e.key === "ArrowUp") select(at < 0 ? 0 : at - 1);
    else if (e.key === "PageDown") select(at + 15);
    else if (e.key === "PageUp") select(at - 15);
    else if (e.key === "Home") select(0);
    else if (e.key === "End") select(rows.length - 1);
    else if (row && e.key === "ArrowLeft" && row.hasChildren && !row.isFolded) fold(row.span.spanId);
    else if (row && e.key === "ArrowRight" && row.run > 0) props.onRun(row.span.spanId);
    else if (row && e.key === "ArrowRight" && row.isFolded) fold(row.span.spanId);
    else if (row && (e.key === "Enter" || e.key === "w" || e.key === "p")) props.onWhy(row.span);
    else if (row && e.key === "z") {
      const whole = trace.durationNs || 1;
      const from = Math.max(0, row.span.startOffsetNs / whole);
      props.onZoom({ from, until: Math.min(1, Math.max(from + 1e-4, (row.span.startOffsetNs + row.span.durationNs) / whole)) });
    } else if (e.key === "Escape") props.onZoom({ from: 0, until: 1 });
    else return;
    e.preventDefault();
  };
  return (
    <div class={rowHeight === ROW_PHONE ? "waterfall stacked" : "waterfall"} role="treegrid" aria-label="Spans" aria-rowcount={rows.length}>
      <Ruler trace={trace} zoom={zoom} ticks={ticks} />
      <div
        class="waterfall-scroll"
        role="rowgroup"
        ref={box}
        tabIndex={0}
        aria-label="Spans: arrows move and fold, Enter explains the duration, z zooms to the span, Escape zooms out"
        onKeyDown={onKey}
        onScroll={(e) => setView({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight, width: e.currentTarget.clientWidth })}
      >
        <div class="waterfall-tall" role="presentation" style={{ height: `${String(rows.length * rowHeight)}px` }}>
          {shown.map((row, i) => (
            <SpanRow
              key={row.span.spanId + String(row.at)}
              row={row}
              trace={trace}
              zoom={zoom}
              top={(begin + i) * rowHeight}
              isSelected={begin + i === at}
              isMatch={props.search !== "" && spanMatches(row.span, props.search)}
              ledger={props.ledgers.get(row.span.spanId)}
              byService={props.byService}
              onFold={fold}
              onRun={props.onRun}
              onSelect={props.onSelect}
              onWhy={props.onWhy}
              onGap={props.onGap}
            />
          ))}
        </div>
      </div>
    </div>
  );
}
