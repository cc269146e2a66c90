import { useEffect, useRef, useState } from "preact/hooks";
import type { Trace } from "../api/types";
import { serviceToken } from "../format/color";
import { token } from "../state/palette";
import { duration } from "../format/units";

export interface Zoom {
  readonly from: number;
  readonly until: number;
}

const HEIGHT = 34;

/** The whole trace small; dragging over it zooms the waterfall. */
export function Minimap(props: { trace: Trace; zoom: Zoom; onZoom: (z: Zoom) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const [width, setWidth] = useState(0);
  const [themed, setThemed] = useState(0);
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
    c.width = width * (devicePixelRatio || 1);
    c.height = HEIGHT * (devicePixelRatio || 1);
    g.scale(devicePixelRatio || 1, devicePixelRatio || 1);
    const { spans, durationNs } = props.trace;
    const step = Math.min(4, HEIGHT / Math.max(spans.length, 1));
    spans.forEach((s, i) => {
      g.fillStyle = s.status === "STATUS_CODE_ERROR" ? token("bad") : token(serviceToken(s.service));
      g.fillRect((s.startOffsetNs / (durationNs || 1)) * width, i * step, Math.max((s.durationNs / (durationNs || 1)) * width, 1), Math.max(step - 0.5, 0.5));
    });
  }, [props.trace, width, themed]);
  const at = (e: MouseEvent) => {
    const r = canvas.current?.getBoundingClientRect();
    return r ? Math.min(1, Math.max(0, (e.clientX - r.left) / (r.width || 1))) : 0;
  };
  const shown = drag ? { from: Math.min(drag.from, drag.to), until: Math.max(drag.from, drag.to) } : props.zoom;
  const isWhole = !drag && props.zoom.from <= 0 && props.zoom.until >= 1;
  return (
    <div
      class="minimap"
      title="Drag to zoom"
      onMouseDown={(e) => {
        e.preventDefault();
        const from = at(e);
        let to = from;
        setDrag({ from, to });
        const move = (m: MouseEvent) => {
          to = at(m);
          setDrag({ from, to });
        };
        const up = () => {
          removeEventListener("mousemove", move);
          setDrag(undefined);
          if (Math.abs(to - from) > 0.003) props.onZoom({ from: Math.min(from, to), until: Math.max(from, to) });
        };
        addEventListener("mousemove", move);
        addEventListener("mouseup", up, { once: true });
      }}
    >
      <canvas ref={canvas} style={{ height: `${String(HEIGHT)}px` }} role="img" aria-label={`The whole trace: ${String(props.trace.spans.length)} spans in ${duration(props.trace.durationNs)}`} />
      {!isWhole && <span class="minimap-window" style={{ left: `${String(shown.from * 100)}%`, width: `${String((shown.until - shown.from) * 100)}%` }} />}
    </div>
  );
}
