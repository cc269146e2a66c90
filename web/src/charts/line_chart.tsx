import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { clock, moment } from "../format/units";
import { token } from "../state/palette";
import { roundTicks, timeTicks } from "./axis";
import { joined } from "./heatmap";

export interface Line {
  readonly name: string;
  /** A colour, or a token as var(--name) */
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly isDashed?: boolean;
}

export interface Mark {
  readonly ms: number;
  readonly words: string;
}

const LEFT = 56;
const RIGHT = 4;
const TOP = 6;
const BOTTOM = 20;
const LABEL = 52;
/** Lines whose values are read at the pointer, largest first */
const READ = 5;

function inked(color: string): string {
  const m = /^var\(--([\w-]+)\)$/.exec(color);
  return m ? token(m[1] ?? "") : color;
}

/** The index of the time nearest to `ms`; -1: there is none. */
export function nearest(times: readonly number[], ms: number): number {
  return times.reduce((best, t, i) => (best < 0 || Math.abs(t - ms) < Math.abs((times[best] ?? 0) - ms) ? i : best), -1);
}

/** Runs of values without gaps, as places in the list. */
export function runs(values: readonly (number | null)[]): number[][] {
  const out: number[][] = [];
  values.forEach((v, i) => {
    if (v === null) return;
    if (i > 0 && (values[i - 1] ?? null) !== null) out[out.length - 1]?.push(i);
    else out.push([i]);
  });
  return out;
}

/** Lines over time; dragging chooses a range. `marks` are moments worth a line of their own: deploys. */
export function LineChart(props: {
  title: string;
  times: readonly number[];
  /** What the axis shows, whatever the points reach */
  fromMs: number;
  untilMs: number;
  lines: readonly Line[];
  format: (n: number) => string;
  onRange: (fromMs: number, untilMs: number) => void;
  height?: number;
  marks?: readonly Mark[];
  onMark?: (mark: Mark) => void;
  /** Name a single line, too */
  isNamed?: boolean;
  /** Under a single line */
  isArea?: boolean;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [themed, setThemed] = useState(0);
  const [at, setAt] = useState(-1);
  const [drag, setDrag] = useState<readonly [number, number]>();
  const height = props.height ?? 110;
  const plot = { w: Math.max(1, width - LEFT - RIGHT), h: height - TOP - BOTTOM };
  const span = props.untilMs - props.fromMs || 1;
  const max = props.lines.reduce((m, l) => l.values.reduce<number>((n, v) => Math.max(n, v ?? 0), m), 0);
  const top = max > 0 ? max * 1.08 : 1;
  const x = (ms: number) => LEFT + ((ms - props.fromMs) / span) * plot.w;
  const y = (v: number) => TOP + plot.h * (1 - v / top);
  const px = (n: number) => `${n.toFixed(1)}px`;

  useEffect(() => {
    const c = canvas.current;
    if (!c) return undefined;
    const watch = new ResizeObserver(() => setWidth(c.clientWidth));
    watch.observe(c);
    const repaint = () => setThemed((n) => n + 1);
    addEventListener("themechange", repaint);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", repaint);
    };
  }, []);
  useEffect(() => {
    const c = canvas.current;
    const g = c?.getContext("2d");
    if (!c || !g || width === 0) return;
    const ratio = devicePixelRatio || 1;
    c.width = width * ratio;
    c.height = height * ratio;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = `10.5px ${token("font") || "sans-serif"}`;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const v of roundTicks(0, top, Math.max(3, Math.floor(plot.h / 21)))) {
      g.fillStyle = token("line");
      g.fillRect(LEFT, Math.round(y(v)), plot.w, 1);
      g.fillStyle = token("ink-3");
      g.fillText(v === 0 ? "0" : props.format(v), LEFT - 7, y(v));
    }
    g.textAlign = "center";
    for (const t of inside(timeTicks(props.fromMs, props.untilMs, Math.max(2, Math.floor(plot.w / 90))), props.fromMs, props.untilMs, plot.w)) g.fillText(clock(t, span), x(t), height - 8);
    g.beginPath();
    g.rect(LEFT, 0, plot.w, height);
    g.clip();
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    for (const l of props.lines) {
      g.strokeStyle = g.fillStyle = inked(l.color);
      g.setLineDash(l.isDashed ? [4, 3] : []);
      const place = (i: number): [number, number] => [x(props.times[i] ?? 0), y(l.values[i] ?? 0)];
      for (const run of runs(l.values)) {
        const [first, last] = [run[0] ?? 0, run[run.length - 1] ?? 0];
        g.beginPath();
        if (run.length === 1) g.arc(...place(first), 2, 0, 7); // a line would not be seen
        else run.forEach((i) => g.lineTo(...place(i)));
        if (run.length === 1) g.fill();
        else g.stroke();
        if (!props.isArea || props.lines.length > 1) continue;
        g.lineTo(place(last)[0], y(0));
        g.lineTo(place(first)[0], y(0));
        g.globalAlpha = 0.12;
        g.fill();
        g.globalAlpha = 1;
      }
    }
  }, [props.times, props.lines, props.format, height, width, themed, props.fromMs, props.untilMs]);

  const place = (e: MouseEvent) => Math.min(plot.w, Math.max(0, e.clientX - (over.current?.getBoundingClientRect().left ?? 0)));
  const time = (place: number) => props.fromMs + (place / plot.w) * span;
  const onDown = (e: MouseEvent) => {
    if (e.button !== 0) return;
    e.preventDefault();
    const from = place(e);
    let to = from;
    const move = (m: MouseEvent) => {
      to = place(m);
      setDrag([Math.min(from, to), Math.max(from, to)]);
    };
    const up = () => {
      removeEventListener("mousemove", move);
      setDrag(undefined);
      if (Math.abs(to - from) > 4) props.onRange(time(Math.min(from, to)), time(Math.max(from, to)));
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up, { once: true });
  };
  const ms = props.times[at];
  const left = ms === undefined ? 0 : x(ms) - LEFT;
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        {(props.lines.length > 1 || props.isNamed) && (
          <span class="line-names">
            {props.lines.map((l) => (
              <span key={l.name} class="line-name">
                <span class={l.isDashed ? "line-key dashed" : "line-key"} style={{ borderColor: l.color }} />
                <bdi class="name" title={l.name}>{l.name}</bdi>
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div class="chart-box">
        <canvas ref={canvas} style={{ height: px(height) }} role="img" aria-label={props.title} />
        {width > 0 && (
          <div ref={over} class="plot-over" style={{ left: px(LEFT), top: px(TOP), width: px(plot.w), height: px(plot.h) }} onMouseDown={onDown} onMouseMove={(e) => setAt(nearest(props.times, time(place(e))))} onMouseLeave={() => setAt(-1)}>
            {drag && <i class="plot-range" style={{ left: px(drag[0]), width: px(drag[1] - drag[0]) }} />}
            {ms !== undefined && left >= 0 && left <= plot.w && (
              <>
                <i class="plot-at" style={{ left: px(left) }} />
                {props.lines.map((l) => typeof l.values[at] === "number" && <i key={l.name} class="plot-dot" style={{ left: px(left), top: px(y(l.values[at]) - TOP), background: l.color }} />)}
                <span class="plot-read" style={left > plot.w / 2 ? { right: px(plot.w - left) } : { left: px(left) }}>
                  {clock(ms, span)}
                  {[...props.lines].sort((a, b) => (b.values[at] ?? -1) - (a.values[at] ?? -1)).slice(0, READ).map((l) => (
                    <span key={l.name}>
                      {props.lines.length > 1 ? `${l.name} ` : ""}
                      <b>{typeof l.values[at] === "number" ? props.format(l.values[at]) : "no data"}</b>
                    </span>
                  ))}
                  {props.lines.length > READ && <span>and {props.lines.length - READ} more</span>}
                </span>
              </>
            )}
          </div>
        )}
        {width > 0 &&
          joined(props.marks ?? [], x).map((m) => (
            <span key={`${m.marks[0]?.words ?? ""}${String(m.x)}`} class={m.x > width * 0.75 ? "dep l" : "dep"} style={{ left: `${m.x.toFixed(1)}px`, top: "4px", height: `${String(height - 24)}px` }}>
              <button type="button" title={`${props.onMark ? "Why slow? Before and after " : ""}${m.marks.map((k) => `${visible(k.words)} at ${moment(k.ms).slice(11, 19)}`).join(", ")}`} onClick={() => m.marks[0] && props.onMark?.(m.marks[0])}>
                {m.marks.length === 1 ? visible(m.marks[0]?.words ?? "").slice(0, 18) : `${String(m.marks.length)} deploys`}
              </button>
            </span>
          ))}
      </div>
    </figure>
  );
}

/** Without ticks whose label would be cut at an edge, or stand on that of the other axis. */
function inside(ticks: readonly number[], fromMs: number, untilMs: number, width: number): number[] {
  const margin = (LABEL / 2 / Math.max(1, width)) * (untilMs - fromMs);
  return ticks.filter((t) => t >= fromMs + margin && t <= untilMs - margin);
}
