import { useEffect, useRef, useState } from "preact/hooks";
import { clock, duration } from "../format/units";
import { heightOf, secondsAt, type Heat } from "./heat";

export interface Box {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

const LEFT = 64;
const BOTTOM = 20;
const TOP = 8;

/** Durations over time. A dot is a trace; a box is a question. */
export function Heatmap(props: { heat: Heat; fromMs: number; untilMs: number; onDot: (trace: string) => void; onBox: (b: Box) => void; box?: Box | undefined; height?: number }) {
  const { heat } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<{ x0: number; y0: number; x1: number; y1: number }>();
  const [themed, setThemed] = useState(0);
  const HEIGHT = props.height ?? 240;
  const plot = { w: Math.max(width - LEFT, 1), h: HEIGHT - BOTTOM - TOP };
  const x = (ms: number) => LEFT + ((ms - props.fromMs) / (props.untilMs - props.fromMs || 1)) * plot.w;
  const y = (s: number) => TOP + plot.h * (1 - heightOf(heat, s));

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
    const style = getComputedStyle(c);
    const ink = style.getPropertyValue("--faint");
    const step = (heat.times[1] ?? 0) - (heat.times[0] ?? 0) || props.untilMs - props.fromMs;
    heat.cells.forEach((row, r) => {
      const top = y(heat.edges[r] ?? 1);
      const bottom = y((heat.edges[r] ?? 1) / 2);
      row.forEach((v, i) => {
        if (v <= 0) return;
        // One hue, darker is more; the square root keeps single slow spans visible.
        const t = Math.sqrt(v / heat.max);
        g.fillStyle = `hsl(22 90% ${String(78 - 48 * t)}%)`;
        const end = x(heat.times[i] ?? 0);
        const start = Math.max(LEFT, x((heat.times[i] ?? 0) - step));
        if (end > start) g.fillRect(start, top, Math.max(end - start - 1, 1), Math.max(bottom - top - 1, 1));
      });
    });
    g.fillStyle = ink;
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    g.textAlign = "right";
    const every = Math.max(1, Math.ceil(heat.edges.length / 8));
    heat.edges.forEach((e, i) => {
      if (i % every === 0) g.fillText(duration(e * 1e9), LEFT - 6, y(e));
    });
    g.textAlign = "center";
    for (let i = 0; i <= 4; i++) {
      const ms = props.fromMs + ((props.untilMs - props.fromMs) * i) / 4;
      g.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
      g.fillText(clock(ms, props.untilMs - props.fromMs), x(ms), HEIGHT - 8);
    }
    for (const d of heat.dots) {
      g.beginPath();
      g.arc(x(d.ms), y(d.seconds), 3.5, 0, 7);
      g.fillStyle = "#1266b8";
      g.fill();
      g.strokeStyle = "#fff";
      g.stroke();
    }
  }, [heat, width, props.fromMs, props.untilMs, themed]);

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
    if (e.button !== 0) return;
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
      if (Math.abs(d.x1 - d.x0) > 5 && Math.abs(d.y1 - d.y0) > 5) {
        props.onBox(boxOf(d));
        return;
      }
      let best: { trace: string; far: number } | undefined;
      for (const dot of heat.dots) {
        const far = Math.hypot(x(dot.ms) - d.x0, y(dot.seconds) - d.y0);
        if (far < 8 && (!best || far < best.far)) best = { trace: dot.trace, far };
      }
      if (best) props.onDot(best.trace);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up, { once: true });
  };
  const shown = drag
    ? { left: Math.min(drag.x0, drag.x1), top: Math.min(drag.y0, drag.y1), width: Math.abs(drag.x1 - drag.x0), height: Math.abs(drag.y1 - drag.y0) }
    : props.box && { left: x(props.box.fromMs), top: y(props.box.maxNs / 1e9), width: x(props.box.untilMs) - x(props.box.fromMs), height: y(props.box.minNs / 1e9) - y(props.box.maxNs / 1e9) };
  return (
    <div class="heatmap" onMouseDown={onDown}>
      <canvas
        ref={canvas}
        style={{ height: `${String(HEIGHT)}px` }}
        role="img"
        aria-label={`Durations over time, from ${duration((heat.edges[0] ?? 0) * 5e8)} to ${duration((heat.edges[heat.edges.length - 1] ?? 0) * 1e9)}; ${String(heat.dots.length)} example traces`}
      />
      {shown && shown.width > 0 && <span class="heat-box" style={{ left: `${String(shown.left)}px`, top: `${String(shown.top)}px`, width: `${String(shown.width)}px`, height: `${String(Math.max(shown.height, 2))}px` }} />}
    </div>
  );
}
