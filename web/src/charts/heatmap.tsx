import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { clock, count, countOf, duration, moment } from "../format/units";
import { token } from "../state/palette";
import { logTicks, timeTicks } from "./axis";
import { bestDots, heatLevel, heightOf, LEVELS, secondsAt, type Heat } from "./heat";
import type { Mark } from "./line_chart";

export interface Box {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

const LEFT = 56;
const BOTTOM = 20;
const TOP = 22;

/** The scale of the colours, with both its ends. */
export function HeatKey(props: { max: number; stepS: number }) {
  const of = (n: number, unit: string) => (n === 1 ? unit : `${String(n)} ${unit}`);
  const per = props.stepS >= 3600 ? of(props.stepS / 3600, "h") : props.stepS >= 60 ? of(props.stepS / 60, "min") : of(props.stepS, "s");
  return (
    <span class="heatkey" role="img" aria-label={`Colours from 1 to ${countOf(props.max, "span")} per ${per}`}>
      1
      <span>
        {Array.from({ length: LEVELS }, (_, i) => (
          <i key={i} style={{ background: `var(--heat-${String(i + 1)})` }} />
        ))}
      </span>
      {count(props.max)} per {per}
    </span>
  );
}

/** Durations over time. A dot is a trace; a box is a query; a dashed line is a deploy. */
export function Heatmap(props: { heat: Heat; fromMs: number; untilMs: number; onDot: (trace: string) => void; onBox: (b: Box) => void; box?: Box | undefined; height?: number; marks?: readonly Mark[]; onMark?: (m: Mark) => void }) {
  const { heat } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<{ x0: number; y0: number; x1: number; y1: number }>();
  const [themed, setThemed] = useState(0);
  const HEIGHT = props.height ?? 232;
  const plot = { w: Math.max(width - LEFT, 1), h: HEIGHT - BOTTOM - TOP };
  const x = (ms: number) => LEFT + ((ms - props.fromMs) / (props.untilMs - props.fromMs || 1)) * plot.w;
  const y = (s: number) => TOP + plot.h * (1 - heightOf(heat, s));
  const dots = useMemo(() => bestDots(heat, props.fromMs, props.untilMs), [heat, props.fromMs, props.untilMs]);

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
    c.height = HEIGHT * ratio;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const low = (heat.edges[0] ?? 1) / 2;
    const high = heat.edges[heat.edges.length - 1] ?? 1;
    g.font = `10.5px ${token("font") || "sans-serif"}`;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const s of logTicks(low, high, Math.max(2, Math.floor(plot.h / 26)))) {
      g.fillStyle = token("line");
      g.fillRect(LEFT, Math.round(y(s)), plot.w, 1);
      g.fillStyle = token("ink-3");
      g.fillText(duration(s * 1e9), LEFT - 7, y(s));
    }
    const step = (heat.times[1] ?? 0) - (heat.times[0] ?? 0) || props.untilMs - props.fromMs;
    heat.cells.forEach((row, r) => {
      const top = y(heat.edges[r] ?? 1);
      const bottom = y((heat.edges[r] ?? 1) / 2);
      row.forEach((v, i) => {
        if (v <= 0) return;
        g.fillStyle = token(`heat-${String(heatLevel(v, heat.max))}`);
        const end = Math.min(LEFT + plot.w, x(heat.times[i] ?? 0));
        const start = Math.max(LEFT, x((heat.times[i] ?? 0) - step));
        if (end > start) g.fillRect(start, top, Math.max(end - start, 1), Math.max(bottom - top - 1, 1));
      });
    });
    g.fillStyle = token("ink-3");
    const span = props.untilMs - props.fromMs;
    for (const ms of timeTicks(props.fromMs, props.untilMs, Math.max(2, Math.floor(plot.w / 110)))) {
      const at = x(ms);
      g.textAlign = at < LEFT + 20 ? "left" : at > width - 24 ? "right" : "center";
      g.fillText(clock(ms, span), at, HEIGHT - 8);
    }
  }, [heat, width, props.fromMs, props.untilMs, themed, HEIGHT]);

  const point = (e: MouseEvent) => {
    const r = canvas.current?.getBoundingClientRect();
    return { x: Math.min(width, Math.max(LEFT, e.clientX - (r?.left ?? 0))), y: Math.min(TOP + plot.h, Math.max(TOP, e.clientY - (r?.top ?? 0))) };
  };
  const boxOf = (d: { x0: number; y0: number; x1: number; y1: number }): Box => {
    const ms = (px: number) => props.fromMs + ((px - LEFT) / plot.w) * (props.untilMs - props.fromMs);
    const ns = (py: number) => secondsAt(heat, 1 - (py - TOP) / plot.h) * 1e9;
    return { fromMs: ms(Math.min(d.x0, d.x1)), untilMs: ms(Math.max(d.x0, d.x1)), minNs: ns(Math.max(d.y0, d.y1)), maxNs: ns(Math.min(d.y0, d.y1)) };
  };
  const onDown = (e: MouseEvent) => {
    if (e.button !== 0 || (e.target instanceof Element && e.target.closest("button"))) return;
    e.preventDefault();
    const p = point(e);
    let d = { x0: p.x, y0: p.y, x1: p.x, y1: p.y };
    const move = (m: MouseEvent) => {
      const q = point(m);
      d = { ...d, x1: q.x, y1: q.y };
      setDrag(d);
    };
    const up = () => {
      removeEventListener("mousemove", move);
      setDrag(undefined);
      if (Math.abs(d.x1 - d.x0) > 5 && Math.abs(d.y1 - d.y0) > 5) props.onBox(boxOf(d));
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up, { once: true });
  };
  const shown = drag
    ? { left: Math.min(drag.x0, drag.x1), top: Math.min(drag.y0, drag.y1), width: Math.abs(drag.x1 - drag.x0), height: Math.abs(drag.y1 - drag.y0) }
    : props.box && { left: Math.max(LEFT, x(props.box.fromMs)), top: y(props.box.maxNs / 1e9), width: Math.min(width, x(props.box.untilMs)) - Math.max(LEFT, x(props.box.fromMs)), height: y(props.box.minNs / 1e9) - y(props.box.maxNs / 1e9) };
  const px = (n: number) => `${n.toFixed(1)}px`;
  return (
    <div class="heatmap" onMouseDown={onDown}>
      <canvas
        ref={canvas}
        style={{ height: px(HEIGHT) }}
        role="img"
        aria-label={`Durations over time, from ${duration((heat.edges[0] ?? 0) * 5e8)} to ${duration((heat.edges[heat.edges.length - 1] ?? 0) * 1e9)}; ${String(dots.length)} example traces`}
      />
      {width > 0 && joined(props.marks ?? [], x).map((m) => (
        <span key={m.marks[0]?.words} class={m.x > LEFT + plot.w * 0.8 ? "dep l" : "dep"} style={{ left: px(m.x), top: "4px", height: px(HEIGHT - BOTTOM - 4) }}>
          <button type="button" title={`Why slow? Before and after ${m.marks.map((k) => `${visible(k.words)} at ${moment(k.ms).slice(11, 19)}`).join(", ")}`} onClick={() => m.marks[0] && props.onMark?.(m.marks[0])}>
            {m.marks.length === 1 ? visible(m.marks[0]?.words ?? "").slice(0, 18) : `${String(m.marks.length)} deploys`}
          </button>
        </span>
      ))}
      {width > 0 && !drag && dots.map((d) => (
        <button
          type="button"
          key={`${d.trace} ${String(d.ms)}`}
          class="heat-dot"
          style={{ left: px(x(d.ms)), top: px(y(d.seconds)) }}
          aria-label={`Trace of ${duration(d.seconds * 1e9)} at ${moment(d.ms).slice(11, 19)}`}
          title={`${duration(d.seconds * 1e9)} at ${moment(d.ms).slice(11, 19)}: open this trace`}
          onClick={() => props.onDot(d.trace)}
        />
      ))}
      {shown && shown.width > 0 && <span class="heat-box" style={{ left: px(shown.left), top: px(shown.top), width: px(shown.width), height: px(Math.max(shown.height, 2)) }} />}
    </div>
  );
}

/** Marks that stand too close to be told apart become one. */
export function joined(marks: readonly Mark[], x: (ms: number) => number, apart = 24): { x: number; marks: Mark[] }[] {
  const out: { x: number; marks: Mark[] }[] = [];
  for (const m of [...marks].sort((a, b) => a.ms - b.ms)) {
    const at = x(m.ms);
    const last = out[out.length - 1];
    if (last && at - last.x < apart) last.marks.unshift(m);
    else out.push({ x: at, marks: [m] });
  }
  return out;
}
