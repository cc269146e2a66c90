import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { visible } from "../format/safe_text";
import { clock, moment } from "../format/units";

export interface Line {
  readonly name: string;
  readonly color: string;
  readonly values: readonly (number | null)[];
}
/** Marks that are named above the chart; all of them are drawn. */
const MARKS = 6;

export interface Mark {
  readonly ms: number;
  readonly words: string;
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
}) {
  const box = useRef<HTMLDivElement>(null);
  const onRange = useRef(props.onRange);
  onRange.current = props.onRange;
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const make = () => {
      const style = getComputedStyle(element);
      const ink = style.getPropertyValue("--faint");
      const axis = { stroke: ink, grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
      return new uPlot(
        {
          width: element.clientWidth || 400,
          height: props.height ?? 150,
          legend: { show: false },
          cursor: { drag: { x: true, y: false, setScale: false } },
          scales: { x: { time: true, range: [props.fromMs / 1e3, props.untilMs / 1e3] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
          axes: [{ ...axis, size: 26, values: (_, all) => all.map((s) => clock(s * 1e3, props.untilMs - props.fromMs)) }, { ...axis, size: 64, values: (_, all) => all.map((v) => props.format(v)) }],
          series: [{}, ...props.lines.map((l) => ({ label: l.name, stroke: l.color, width: 1.5, spanGaps: false, points: { show: l.values.filter((v) => v !== null).length < 90, size: 4 } }))],
          hooks: {
            setSelect: [
              (u) => {
                if (u.select.width > 4) onRange.current(u.posToVal(u.select.left, "x") * 1e3, u.posToVal(u.select.left + u.select.width, "x") * 1e3);
              },
            ],
            draw: [
              (u) => {
                for (const m of props.marks ?? []) {
                  const x = u.valToPos(m.ms / 1e3, "x", true);
                  if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
                  u.ctx.save();
                  u.ctx.strokeStyle = style.getPropertyValue("--accent");
                  u.ctx.fillStyle = u.ctx.strokeStyle;
                  u.ctx.setLineDash([4, 3]);
                  u.ctx.beginPath();
                  u.ctx.moveTo(x, u.bbox.top);
                  u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
                  u.ctx.stroke();
                  const nearEnd = x > u.bbox.left + u.bbox.width * 0.85;
                  u.ctx.textAlign = nearEnd ? "right" : "left";
                  u.ctx.fillText(visible(m.words).slice(0, 24), x + (nearEnd ? -4 : 4), u.bbox.top + 10);
                  u.ctx.restore();
                }
              },
            ],
          },
        },
        [props.times.map((t) => t / 1e3), ...props.lines.map((l) => [...l.values])],
        element,
      );
    };
    let chart = make();
    const again = () => {
      chart.destroy();
      chart = make();
    };
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: props.height ?? 150 }));
    watch.observe(element);
    addEventListener("themechange", again);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", again);
      chart.destroy();
    };
  }, [props.times, props.lines, props.format, props.height, props.marks, props.fromMs, props.untilMs]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        {props.lines.length > 1 &&
          props.lines.map((l) => (
            <span key={l.name} class="line-name">
              {" "}
              <span class="dot" style={{ background: l.color }} /> {l.name}
            </span>
          ))}
        {(props.marks ?? []).length > 0 && (
          <span class="marks">
            {" · since "}
            {(props.marks ?? []).length > MARKS && `(the last ${String(MARKS)} of ${String(props.marks?.length)}) `}
            {props.marks?.slice(-MARKS).map((m) => (
              <span key={`${m.words}${String(m.ms)}`} title={moment(m.ms)}>
                {clock(m.ms, props.untilMs - props.fromMs)} <b>{visible(m.words)}</b>{" "}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div ref={box} role="img" aria-label={props.title} />
    </figure>
  );
}
