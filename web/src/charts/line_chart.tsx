import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { visible } from "../format/safe_text";
import { clock, moment } from "../format/units";
import { token } from "../state/palette";
import { timeTicks } from "./axis";
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
const LABEL = 52;

function inked(color: string): string {
  const m = /^var\(--([\w-]+)\)$/.exec(color);
  return m ? token(m[1] ?? "") : color;
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
  const box = useRef<HTMLDivElement>(null);
  const onRange = useRef(props.onRange);
  onRange.current = props.onRange;
  const [width, setWidth] = useState(0);
  const height = props.height ?? 110;
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const make = () => {
      const font = `10.5px ${token("font") || "sans-serif"}`;
      const axis = { stroke: token("ink-3"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font };
      const span = props.untilMs - props.fromMs;
      return new uPlot(
        {
          width: element.clientWidth || 400,
          height,
          legend: { show: false },
          cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
          padding: [6, 4, 0, 0],
          scales: { x: { time: true, range: [props.fromMs / 1e3, props.untilMs / 1e3] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
          axes: [
            { ...axis, grid: { show: false }, size: 20, gap: 3, splits: (u) => inside(timeTicks(props.fromMs, props.untilMs, Math.max(2, Math.floor(u.bbox.width / (devicePixelRatio || 1) / 90))), props.fromMs, props.untilMs, u.bbox.width / (devicePixelRatio || 1)).map((t) => t / 1e3), values: (_, all) => all.map((s) => clock(s * 1e3, span)) },
            { ...axis, size: LEFT, gap: 6, space: 26, values: (_, all) => all.map((v) => (v === 0 ? "0" : props.format(v))) },
          ],
          series: [
            {},
            ...props.lines.map((l) => ({
              label: l.name,
              stroke: inked(l.color),
              width: 1.6,
              spanGaps: false,
              ...(l.isDashed ? { dash: [4, 3] } : {}),
              ...(props.isArea && props.lines.length === 1 ? { fill: `color-mix(in srgb, ${inked(l.color)} 12%, transparent)` } : {}),
              points: { show: isolated(l.values), size: 4, fill: inked(l.color) },
            })),
          ],
          hooks: {
            setSelect: [
              (u) => {
                if (u.select.width > 4) onRange.current(u.posToVal(u.select.left, "x") * 1e3, u.posToVal(u.select.left + u.select.width, "x") * 1e3);
              },
            ],
          },
        },
        [props.times.map((t) => t / 1e3), ...props.lines.map((l) => [...l.values])],
        element,
      );
    };
    let chart = make();
    setWidth(element.clientWidth);
    const again = () => {
      chart.destroy();
      chart = make();
    };
    const watch = new ResizeObserver(() => {
      chart.setSize({ width: element.clientWidth, height });
      setWidth(element.clientWidth);
    });
    watch.observe(element);
    addEventListener("themechange", again);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", again);
      chart.destroy();
    };
  }, [props.times, props.lines, props.format, height, props.fromMs, props.untilMs]);
  const x = (ms: number) => LEFT + ((ms - props.fromMs) / (props.untilMs - props.fromMs || 1)) * (width - LEFT - 4);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        <span class="spring" />
        {(props.lines.length > 1 || props.isNamed) &&
          props.lines.map((l) => (
            <span key={l.name} class="line-name">
              <span class={l.isDashed ? "line-key dashed" : "line-key"} style={{ borderColor: l.color }} /> {l.name}
            </span>
          ))}
      </figcaption>
      <div class="chart-box">
        <div ref={box} role="img" aria-label={props.title} />
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

/** Points are drawn where a line would not be seen: a value without neighbours. */
function isolated(values: readonly (number | null)[]): boolean {
  return values.some((v, i) => v !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null);
}
