// The samples of a span as time went: an axis, a lane per thread, stacks below one another. A table says the same in words.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { roundTicks } from "../charts/axis";
import type { Profile } from "../api/types";
import { visible } from "../format/safe_text";
import { count, countOf, duration } from "../format/units";
import { token } from "../state/palette";
import { framePaint } from "./colors";
import { hatchOf } from "./hatch";
import { boxAt, lanesOf, turnsOf, type Lane, type LaneBox } from "./lanes";
import { patternOf } from "./search";
import { placeText } from "./tooltip";
import type { Moment } from "./tree";

const ROW = 16;
const HEAD = 20;
const AXIS = 22;
const NARROW = 0.6;
const CHAR = 6.05;
const TABLE = 200;
const FONT = '10px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export interface Stretch {
  readonly from: number;
  readonly until: number;
}

interface At {
  readonly lane: number;
  readonly row: number;
  readonly box: number;
}

export function stretchIn(text: string, whole: number): Stretch {
  const m = /^(\d+)-(\d+)$/.exec(text);
  const [from, until] = [Number(m?.[1]), Number(m?.[2])];
  return until > from && from < whole ? { from, until: Math.min(until, whole) } : { from: 0, until: whole };
}

function heightOf(l: Lane): number {
  return HEAD + Math.max(1, l.rows.length) * ROW + 6;
}

export function TimeLanes(props: { profile: Profile; moments: readonly Moment[]; whole: number; zoom: string; onZoom: (text: string) => void; search: string; label: string; names?: readonly string[] }) {
  const { whole, names } = props;
  /** Whose lane it is: a thread's number, or what the caller calls it. */
  const nameOf = useCallback((thread: number) => (names?.[thread] === undefined ? `thread ${String(thread + 1)}` : visible(names[thread] ?? "")), [names]);
  const made = useMemo(() => lanesOf(props.profile, props.moments), [props.profile, props.moments]);
  const window = useMemo(() => stretchIn(props.zoom, whole), [props.zoom, whole]);
  const tops = useMemo(() => {
    let top = AXIS;
    return made.lanes.map((l) => {
      const at = top;
      top += heightOf(l);
      return at;
    });
  }, [made]);
  const high = (tops[tops.length - 1] ?? AXIS) + (made.lanes.length > 0 ? heightOf(made.lanes[made.lanes.length - 1] as Lane) : 0);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const status = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [themed, setThemed] = useState(0);
  const [words, setWords] = useState(false);
  const chosen = useRef<At | undefined>(undefined);
  const drag = useRef<{ from: number; to: number } | undefined>(undefined);
  const hits = useMemo(() => {
    const pattern = props.search === "" ? undefined : patternOf(props.search);
    return pattern && made.frames.map((f) => pattern.test(f.function));
  }, [made, props.search]);

  const boxOf = (at: At | undefined): LaneBox | undefined => (at ? made.lanes[at.lane]?.rows[at.row]?.[at.box] : undefined);
  const tell = useCallback(
    (at: At | undefined) => {
      const b = boxOf(at);
      if (!status.current) return;
      const f = made.frames[b?.frame ?? -1];
      const place = placeText(f);
      status.current.textContent = b && at && f ? `${visible(f.function)}, ${nameOf(made.lanes[at.lane]?.thread ?? 0)}, from ${duration(b.from)} to ${duration(b.until)} (${duration(b.until - b.from)}, ${countOf(b.samples, "sample")})${place === "" ? "" : ` · ${visible(place)}`}` : `${duration(window.from)} to ${duration(window.until)} of ${duration(whole)}`;
    },
    [made, window, whole, nameOf],
  );

  const paint = useCallback(() => {
    const c = canvas.current;
    const g = c?.getContext("2d");
    if (!c || !g || width === 0) return;
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(high * ratio)];
    if (c.width !== w || c.height !== h) [c.width, c.height] = [w, h];
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = token("panel");
    g.fillRect(0, 0, width, high);
    g.textBaseline = "middle";
    const scale = width / (window.until - window.from);
    const x = (ns: number) => (ns - window.from) * scale;
    g.font = FONT;
    const ticks = roundTicks(window.from, window.until, Math.max(2, Math.floor(width / 110)));
    for (const t of ticks) {
      g.fillStyle = token("line");
      g.fillRect(x(t), AXIS - 5, 1, high);
      g.fillStyle = token("ink-2");
      const text = duration(t);
      g.textAlign = x(t) > width - 40 ? "right" : "left";
      g.fillText(text, x(t) + (g.textAlign === "right" ? -3 : 3), AXIS / 2);
    }
    g.textAlign = "left";
    let bars = 0;
    made.lanes.forEach((lane, n) => {
      const top = tops[n] ?? 0;
      g.fillStyle = token("sunken");
      g.fillRect(0, top, width, HEAD - 3);
      g.fillStyle = token("ink-2");
      g.fillText(`${nameOf(lane.thread).replace(/^thread /, "Thread ")} · ${countOf(lane.samples, "sample")} · ${duration(lane.covered)}`, 6, top + HEAD / 2 - 1);
      lane.rows.forEach((row, depth) => {
        const y = top + HEAD + depth * ROW;
        let first = 0;
        let last = row.length - 1;
        while (first < last) {
          const mid = (first + last) >> 1;
          if ((row[mid]?.until ?? 0) <= window.from) first = mid + 1;
          else last = mid;
        }
        let drawn = -1;
        for (let i = first; i < row.length; i++) {
          const b = row[i];
          if (!b || b.from >= window.until) break;
          const from = Math.max(0, x(b.from));
          const until = Math.min(width, x(b.until));
          if (until - from < NARROW && from - drawn < NARROW) continue;
          const p = framePaint(made.frames[b.frame]);
          const wide = Math.max(until - from - (until - from > 3 ? 1 : 0), 0.6);
          drawn = until;
          g.globalAlpha = hits && hits[b.frame] !== true ? 0.3 : 1;
          g.fillStyle = p.fill;
          g.fillRect(from, y, wide, ROW - 1);
          const hatch = p.hatch === "" ? undefined : hatchOf(g, p.hatch);
          if (hatch) {
            g.fillStyle = hatch;
            g.fillRect(from, y, wide, ROW - 1);
          }
          const room = Math.floor((wide - 6) / CHAR);
          if (room >= 3) {
            const text = visible(made.frames[b.frame]?.function ?? "");
            g.fillStyle = p.ink;
            g.fillText(text.length <= room ? text : `${text.slice(0, room - 1)}…`, from + 3, y + ROW / 2);
          }
          g.globalAlpha = 1;
          bars++;
        }
      });
    });
    const at = chosen.current;
    const b = boxOf(at);
    if (b && at) {
      g.strokeStyle = token("ink");
      g.lineWidth = 2;
      g.strokeRect(Math.max(0, x(b.from)) + 1, (tops[at.lane] ?? 0) + HEAD + at.row * ROW + 1, Math.max(2, Math.min(width, x(b.until)) - Math.max(0, x(b.from)) - 3), ROW - 3);
    }
    if (drag.current) {
      g.globalAlpha = 0.15;
      g.fillStyle = token("accent");
      g.fillRect(Math.min(drag.current.from, drag.current.to), 0, Math.abs(drag.current.to - drag.current.from), high);
      g.globalAlpha = 1;
    }
    c.dataset["bars"] = String(bars);
    c.dataset["lanes"] = String(made.lanes.length);
  }, [made, tops, high, width, window, hits, nameOf]);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    const repaint = () => setThemed((n) => n + 1);
    addEventListener("themechange", repaint);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", repaint);
    };
  }, []);
  useLayoutEffect(() => {
    paint();
    tell(chosen.current);
  }, [paint, tell, themed]);
  useEffect(() => {
    chosen.current = undefined;
  }, [made]);

  const zoomTo = (from: number, until: number) => {
    const most = Math.max(until - from, Math.min(whole, 1000));
    const a = Math.max(0, Math.min(from, whole - most));
    const b = Math.min(whole, a + most);
    props.onZoom(a <= 0 && b >= whole ? "" : `${String(Math.round(a))}-${String(Math.round(b))}`);
  };
  const by = (factor: number, at: number) => zoomTo(at - (at - window.from) * factor, at + (window.until - at) * factor);
  const timeAt = (px: number) => window.from + (px / Math.max(1, width)) * (window.until - window.from);
  const find = (px: number, py: number): At | undefined => {
    const lane = made.lanes.findIndex((l, i) => py >= (tops[i] ?? 0) && py < (tops[i] ?? 0) + heightOf(l));
    const row = Math.floor((py - (tops[lane] ?? 0) - HEAD) / ROW);
    const found = lane < 0 || row < 0 ? -1 : boxAt(made.lanes[lane]?.rows[row], timeAt(px));
    return found < 0 ? undefined : { lane, row, box: found };
  };
  const choose = (at: At | undefined) => {
    chosen.current = at;
    paint();
    tell(at);
  };
  /** Where an arrow key leads: along a row, to a callee, a caller, or the lane beside. */
  const beside = (key: string): At | undefined => {
    const at = chosen.current;
    const b = boxOf(at);
    if (!at || !b) return { lane: 0, row: 0, box: Math.max(0, (made.lanes[0]?.rows[0] ?? []).findIndex((o) => o.until > window.from)) };
    if (key === "ArrowRight" || key === "ArrowLeft") return { ...at, box: at.box + (key === "ArrowRight" ? 1 : -1) };
    const step = key === "ArrowDown" ? 1 : -1;
    const found = boxAt(made.lanes[at.lane]?.rows[at.row + step], b.from);
    return found >= 0 ? { ...at, row: at.row + step, box: found } : { lane: at.lane + step, row: 0, box: 0 };
  };
  const move = (key: string) => {
    const to = beside(key);
    if (boxOf(to)) choose(to);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const b = boxOf(chosen.current);
    const middle = b ? (b.from + b.until) / 2 : (window.from + window.until) / 2;
    const shift = (window.until - window.from) * 0.25;
    if (e.key.startsWith("Arrow") && !e.shiftKey) move(e.key);
    else if (e.key === "ArrowLeft") zoomTo(window.from - shift, window.until - shift);
    else if (e.key === "ArrowRight") zoomTo(window.from + shift, window.until + shift);
    else if (e.key === "Enter" || e.key === " ") {
      if (b) zoomTo(b.from, b.until);
    } else if (e.key === "+" || e.key === "=") by(0.5, middle);
    else if (e.key === "-") by(2, middle);
    else if (e.key === "Escape") zoomTo(0, whole);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const table = useMemo(() => (words ? turnsOf(made, window.from, window.until, TABLE) : undefined), [words, made, window]);
  return (
    <div class="flame-one lanes">
      {(made.left > 0 || made.isCut) && (
        <p class="note pad-x">
          {made.left > 0 && `${count(made.lanes.length)} threads with the most samples are shown, ${count(made.left)} are not. `}
          {made.isCut && "Stacks are deeper than shown."}
        </p>
      )}
      <div class="flame-scroll" ref={box}>
        <canvas
          ref={canvas}
          class="lanes-canvas"
          style={{ width: `${String(width)}px`, height: `${String(high)}px` }}
          tabIndex={0}
          role="application"
          aria-roledescription="samples by time"
          aria-label={`${props.label} in order of time: ${count(made.lanes.length)} threads. Arrows move, Enter zooms, plus and minus change the time shown, Shift with arrows moves it, Escape shows all. “In words” shows a table.`}
          onMouseMove={(e) => {
            const r = e.currentTarget.getBoundingClientRect();
            if (drag.current) {
              drag.current.to = e.clientX - r.left;
              paint();
            } else tell(find(e.clientX - r.left, e.clientY - r.top) ?? chosen.current);
          }}
          onMouseLeave={() => tell(chosen.current)}
          onMouseDown={(e) => {
            const at = e.clientX - e.currentTarget.getBoundingClientRect().left;
            if (e.button === 0) drag.current = { from: at, to: at };
          }}
          onMouseUp={(e) => {
            const d = drag.current;
            const r = e.currentTarget.getBoundingClientRect();
            drag.current = undefined;
            if (d && Math.abs(d.to - d.from) > 4) zoomTo(timeAt(Math.min(d.from, d.to)), timeAt(Math.max(d.from, d.to)));
            else choose(find(e.clientX - r.left, e.clientY - r.top));
          }}
          onDblClick={() => {
            const b = boxOf(chosen.current);
            if (b) zoomTo(b.from, b.until);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div class="row pad-x">
        <button type="button" class="btn s" aria-label="Zoom in" onClick={() => by(0.5, (window.from + window.until) / 2)}>
          +
        </button>
        <button type="button" class="btn s" aria-label="Zoom out" onClick={() => by(2, (window.from + window.until) / 2)}>
          −
        </button>
        {props.zoom !== "" && (
          <button type="button" class="btn s" onClick={() => props.onZoom("")}>
            All of the time
          </button>
        )}
        <button type="button" class="btn s" aria-expanded={words} onClick={() => setWords(!words)}>
          In words
        </button>
        <span class="f3 sm">drag to zoom</span>
      </div>
      {table && (
        <div class="table-scroll lanes-words" tabIndex={0} role="region" aria-label="Samples in order of time, in words">
          <table class="lt" aria-label="Samples in order of time">
            <thead>
              <tr>
                <th>Thread</th>
                <th class="number">From</th>
                <th class="number">For</th>
                <th class="number">Samples</th>
                <th class="wide">Innermost function</th>
              </tr>
            </thead>
            <tbody>
              {table.shown.map((t) => (
                <tr key={`${String(t.thread)} ${String(t.from)}`}>
                  <td>{names?.[t.thread] === undefined ? t.thread + 1 : visible(names[t.thread] ?? "")}</td>
                  <td class="number">{duration(t.from)}</td>
                  <td class="number">{duration(t.until - t.from)}</td>
                  <td class="number">{count(t.samples)}</td>
                  <td class="wide mono">
                    <bdi>{visible(made.frames[t.frame]?.function ?? "")}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {table.left > 0 && <p class="note">The {TABLE} longest; {count(table.left)} shorter ones are left out.</p>}
        </div>
      )}
      <div class="flame-status" role="status" ref={status} />
    </div>
  );
}
