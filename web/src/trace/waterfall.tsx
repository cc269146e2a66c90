import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Ledger, Span, Trace } from "../api/types";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, value } from "../format/units";
import { memo } from "../parts/memo";
import { Name } from "../parts/name";
import { ledgerWords, partColor } from "./ledger";
import type { Zoom } from "./minimap";
import { gapsOf, rowsOf, spanMatches, type Gap, type Row } from "./rows";
import { useLedgers } from "./use_ledgers";

export const ROW = 30;
const EXTRA = 8;

interface Props {
  trace: Trace;
  zoom: Zoom;
  selected: string;
  search: string;
  onSelect: (span: Span) => void;
  onProfile: (span: Span) => void;
  /** What the span itself did in a stretch without children */
  onGap: (span: Span, gap: Gap) => void;
  /** Spans whose children have no rows */
  folded: ReadonlySet<string>;
  onFold: (spanId: string) => void;
  onZoom: (z: Zoom) => void;
}

function left(ns: number, trace: Trace, z: Zoom): number {
  return ((ns / (trace.durationNs || 1) - z.from) / (z.until - z.from)) * 100;
}

function Bar(props: { span: Span; trace: Trace; zoom: Zoom; gaps: readonly Gap[]; ledger: Ledger | undefined; onProfile: (s: Span) => void; onGap: (s: Span, gap: Gap) => void }) {
  const { span, trace, zoom } = props;
  const from = left(span.startOffsetNs, trace, zoom);
  const until = left(span.startOffsetNs + span.durationNs, trace, zoom);
  if (until < 0 || from > 100) return null;
  const a = Math.max(from, 0);
  const width = Math.max(Math.min(until, 100) - a, 0);
  const words = `${duration(span.durationNs)}${span.criticalNs > 0 ? `, ${duration(span.criticalNs)} on the critical path` : ""}`;
  // Beside its bar: after it, else before it, else on it.
  const inside = until > 85 && a < 20;
  const parts = props.ledger?.parts.filter((p) => p.ns > 0) ?? [];
  return (
    <>
      <span class="bar" style={{ left: `${String(a)}%`, width: `${String(width)}%` }}>
        <button
          type="button"
          class={span.status === "STATUS_CODE_ERROR" ? "bar-body error" : "bar-body"}
          style={{ background: serviceColor(span.service) }}
          tabIndex={-1}
          aria-label={`Profile of ${visible(span.name)}, ${words}`}
          title={`${visible(span.name)}: ${words}${parts.length > 0 ? `\n${ledgerWords(parts)}` : ""}\nClick for its profile`}
          onClick={(e) => {
            e.stopPropagation();
            props.onProfile(span);
          }}
        />
        {parts.length > 0 && (
          <span class="bar-ledger" aria-hidden="true">
            {parts.map((p) => (
              <span key={p.part} style={{ width: `${String(p.share * 100)}%`, background: partColor(p.part) }} />
            ))}
          </span>
        )}
      </span>
      {props.gaps.map((gap) => {
        const x = Math.max(left(gap.startOffsetNs, trace, zoom), 0);
        const end = Math.min(left(gap.startOffsetNs + gap.durationNs, trace, zoom), 100);
        if (end <= x) return null;
        const did = span.hot ? `${span.hot.isWithChildren === true ? "its and its children's" : "its own"} samples are mostly in ${visible(span.hot.function)} (${percent(span.hot.share)})` : "click for what its own samples say";
        return (
          <button
            type="button"
            key={gap.startOffsetNs}
            class="gap"
            tabIndex={-1}
            style={{ left: `${String(x)}%`, width: `${String(end - x)}%` }}
            aria-label={`${duration(gap.durationNs)} of ${visible(span.name)} without a child span: what ran`}
            title={`${duration(gap.durationNs)} without a child span: ${did}`}
            onClick={(e) => {
              e.stopPropagation();
              props.onGap(span, gap);
            }}
          />
        );
      })}
      {span.critical.map((c) => {
        const x = left(c.startOffsetNs, trace, zoom);
        const end = left(c.startOffsetNs + c.durationNs, trace, zoom);
        if (end < 0 || x > 100) return null;
        return <span key={c.startOffsetNs} class="critical" style={{ left: `${String(Math.max(x, 0))}%`, width: `${String(Math.min(end, 100) - Math.max(x, 0))}%` }} />;
      })}
      {span.events.map((e, i) => (
        <span key={i} class="event" title={visible(e.name)} style={{ left: `${String(left(Number(BigInt(e.timeUnixNano) - BigInt(trace.startTimeUnixNano)), trace, zoom))}%` }} />
      ))}
      <span class={inside ? "bar-words inside" : "bar-words"} style={until <= 85 ? { left: `${String(until)}%` } : inside ? { left: `${String(a)}%` } : { right: `${String(100 - a)}%` }}>
        {duration(span.durationNs)}
      </span>
    </>
  );
}

interface RowProps {
  row: Row;
  trace: Trace;
  zoom: Zoom;
  isSelected: boolean;
  isMatch: boolean;
  top: number;
  ledger: Ledger | undefined;
  onFold: (id: string) => void;
  onSelect: (s: Span) => void;
  onProfile: (s: Span) => void;
  onGap: (s: Span, gap: Gap) => void;
}

const SpanRow = memo(function SpanRow(props: RowProps) {
  const { row, trace } = props;
  // Offered where samples can say something, and where there is room to click.
  const gaps = useMemo(
    () => (trace.hotType !== undefined && row.hasChildren && row.below < 500 ? gapsOf(trace.spans, row.at, (trace.durationNs * (props.zoom.until - props.zoom.from)) / 50) : []),
    [trace, row, props.zoom],
  );
  const { span } = row;
  const { hot } = span;
  return (
    <div
      class={`span-row${props.isMatch ? " match" : ""}${span.isCritical ? " on-path" : ""}`}
      role="row"
      aria-selected={props.isSelected}
      aria-level={span.depth + 1}
      aria-expanded={row.hasChildren ? !row.isFolded : undefined}
      data-span={span.spanId}
      style={{ top: `${String(props.top)}px` }}
      onClick={() => props.onSelect(span)}
    >
      <div class="span-name" role="gridcell" style={{ paddingLeft: `${String(4 + Math.min(span.depth, 24) * 12)}px` }}>
        <button
          type="button"
          class="plain toggle"
          tabIndex={-1}
          disabled={!row.hasChildren}
          aria-label={row.isFolded ? "Unfold" : "Fold"}
          onClick={(e) => {
            e.stopPropagation();
            props.onFold(span.spanId);
          }}
        >
          {row.hasChildren ? (row.isFolded ? "▸" : "▾") : ""}
        </button>
        <span class="dot" style={{ background: serviceColor(span.service) }} />
        <span class="span-words">
          <Name text={span.name} class="strong" /> <Name text={span.service} class="faint" />
        </span>
        {span.status === "STATUS_CODE_ERROR" && (
          <span class="tag bad" title={visible(span.statusMessage) || "error"}>
            error
          </span>
        )}
        {row.isFolded && <span class="tag">+{row.below}</span>}
      </div>
      <div class="span-time" role="gridcell">
        <Bar span={span} trace={trace} zoom={props.zoom} gaps={gaps} ledger={props.ledger} onProfile={props.onProfile} onGap={props.onGap} />
      </div>
      <div class="span-hot" role="gridcell">
        {span.fewSamples !== undefined && <span class="faint">{span.fewSamples === 1 ? "1 sample" : `${String(span.fewSamples)} samples`}</span>}
        {!hot && span.fewSamples === undefined && span.estimatedSamples !== undefined && (
          <span class="faint" title="An estimate: these samples are shared with other spans, so no function of this one is known">
            {ESTIMATE}
            {span.estimatedSamples === 1 ? "1 sample" : `${String(span.estimatedSamples)} samples`}
          </span>
        )}
        {hot && (
          <span title={`${visible(hot.function)}: ${value(hot.value, trace.hotUnit ?? "")}, ${percent(hot.share)} of ${hot.isWithChildren === true ? "the" : "this span's own"} ${String(hot.samples)} samples${hot.isWithChildren === true ? " of this span and its children" : ""}`}>
            <Name text={hot.function} class="mono" /> <span class="faint">{value(hot.value, trace.hotUnit ?? "")}, {percent(hot.share)}{hot.isWithChildren === true && " with children"}</span>
          </span>
        )}
      </div>
      <div class="span-do" role="gridcell">
        <button
          type="button"
          class="small"
          tabIndex={-1}
          aria-label={`View profile of ${visible(span.name)}`}
          onClick={(e) => {
            e.stopPropagation();
            props.onProfile(span);
          }}
        >
          View profile
        </button>
      </div>
    </div>
  );
});

function Ruler(props: { trace: Trace; zoom: Zoom }) {
  const { zoom: z, trace } = props;
  return (
    <div class="span-row ruler" role="row">
      <div class="span-name" role="columnheader">Span</div>
      <div class="span-time" role="columnheader">
        {[0, 0.25, 0.5, 0.75].map((f) => (
          <span key={f} class="tick" style={{ left: `${String(f * 100)}%` }}>
            {duration((z.from + (z.until - z.from) * f) * trace.durationNs)}
          </span>
        ))}
      </div>
      <div class="span-hot" role="columnheader">Hottest function</div>
      <div class="span-do" role="columnheader"><span class="off-screen">Profile</span></div>
    </div>
  );
}

/** Only the rows on screen exist: ten thousand spans scroll like ten. */
export function Waterfall(props: Props) {
  const { trace } = props;
  const [view, setView] = useState({ top: 0, height: 600 });
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(trace.spans, props.folded), [trace, props.folded]);
  const at = rows.findIndex((r) => r.span.spanId === props.selected);
  const firstMatch = useMemo(() => (props.search === "" ? -1 : rows.findIndex((r) => spanMatches(r.span, props.search))), [rows, props.search]);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setView((v) => ({ ...v, height: element.clientHeight })));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const reveal = (row: number) => {
    const element = box.current;
    if (!element || row < 0) return;
    const top = row * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * ROW > element.scrollTop + element.clientHeight) element.scrollTop = top + 2 * ROW - element.clientHeight;
  };
  useEffect(() => reveal(at), [props.selected, view.height]);
  useEffect(() => reveal(firstMatch), [firstMatch]);

  const begin = Math.max(0, Math.floor(view.top / ROW) - EXTRA);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + EXTRA);
  const shown = rows.slice(begin, end);
  const ledgers = useLedgers(trace.traceId, trace.hotType === undefined ? [] : shown.map((r) => r.span.spanId));
  const fold = props.onFold;
  const onKey = (e: KeyboardEvent) => {
    if (e.target !== box.current) return;
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
    else if (row && e.key === "ArrowRight" && row.isFolded) fold(row.span.spanId);
    else if (row && (e.key === "Enter" || e.key === "p")) props.onProfile(row.span);
    else if (row && e.key === "z") {
      const whole = trace.durationNs || 1;
      const from = Math.max(0, row.span.startOffsetNs / whole);
      props.onZoom({ from, until: Math.min(1, Math.max(from + 1e-4, (row.span.startOffsetNs + row.span.durationNs) / whole)) });
    } else if (e.key === "Escape") props.onZoom({ from: 0, until: 1 });
    else return;
    e.preventDefault();
  };
  return (
    <div class="waterfall" role="treegrid" aria-label="Spans" aria-rowcount={rows.length}>
      <Ruler trace={trace} zoom={props.zoom} />
      <div
        class="waterfall-scroll"
        role="rowgroup"
        ref={box}
        tabIndex={0}
        aria-label="Spans: arrows move and fold, Enter opens the profile, z zooms to the span, Escape out"
        onKeyDown={onKey}
        onScroll={(e) => setView({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })}
      >
        <div class="waterfall-tall" role="presentation" style={{ height: `${String(rows.length * ROW)}px` }}>
          {shown.map((row, i) => (
            <SpanRow
              key={row.span.spanId + String(row.at)}
              row={row}
              trace={trace}
              zoom={props.zoom}
              top={(begin + i) * ROW}
              isSelected={row.span.spanId === props.selected}
              isMatch={props.search !== "" && spanMatches(row.span, props.search)}
              ledger={ledgers.get(row.span.spanId)}
              onFold={fold}
              onSelect={props.onSelect}
              onProfile={props.onProfile}
              onGap={props.onGap}
            />
          ))}
        </div>
      </div>
    </div>
  );
}
