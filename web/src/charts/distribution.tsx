import { useMemo } from "preact/hooks";
import { countOf, duration } from "../format/units";
import { logTicks, roundTicks } from "./axis";
import { densityOf, placeOn, scaleOf } from "./density";

export interface Spread {
  readonly words: string;
  readonly color: string;
  readonly spans: number;
  readonly meanNs: number;
  /** From the shortest to the longest, at even parts of the spans */
  readonly durationsNs: readonly number[];
}

const [WIDE, HIGH, POINTS] = [560, 128, 120];

/** How the durations of two sets are spread, over one another; dashed lines are their means. */
export function Distribution(props: { sides: readonly Spread[] }) {
  const sides = props.sides.filter((s) => s.durationsNs.length > 1);
  const drawn = useMemo(() => {
    const scale = scaleOf(sides.map((s) => s.durationsNs));
    const at = Array.from({ length: POINTS + 1 }, (_, i) => i / POINTS);
    const curves = sides.map((s) => densityOf(s.durationsNs.map((q) => placeOn(scale, q)), at));
    const most = Math.max(...curves.flat(), 1e-9);
    const paths = curves.map((c) => `M0 ${String(HIGH)} ${c.map((v, i) => `L${((i / POINTS) * WIDE).toFixed(1)} ${(HIGH - (v / most) * (HIGH - 8)).toFixed(1)}`).join(" ")} L${String(WIDE)} ${String(HIGH)}`);
    const ticks = scale.isLog ? logTicks(scale.low / 1e9, scale.high / 1e9, 8).map((s) => s * 1e9) : roundTicks(scale.low, scale.high, 5);
    return { scale, paths, ticks: ticks.filter((t) => t >= scale.low && t <= scale.high) };
  }, [props.sides]);
  if (sides.length === 0) return null;
  const at = (ns: number) => Math.min(1, Math.max(0, placeOn(drawn.scale, ns)));
  const middle = (s: Spread) => s.durationsNs[Math.floor(s.durationsNs.length / 2)] ?? 0;
  return (
    <div class="card spread">
      <header>
        <h2>How durations are spread</h2>
        <span class="spring" />
        <span class="legend">
          {sides.map((s) => (
            <span key={s.words}>
              <i class="key" style={{ background: s.color }} aria-hidden="true" /> {s.words}, {countOf(s.spans, "span")}
            </span>
          ))}
        </span>
      </header>
      <div class="spread-plot" role="img" aria-label={sides.map((s) => `${s.words}: half of ${countOf(s.spans, "span")} take ${duration(middle(s))} or less, the longest ${duration(s.durationsNs[s.durationsNs.length - 1] ?? 0)}`).join("; ")}>
        <svg viewBox={`0 0 ${String(WIDE)} ${String(HIGH)}`} preserveAspectRatio="none" aria-hidden="true">
          {drawn.ticks.map((t) => (
            <line key={t} x1={at(t) * WIDE} x2={at(t) * WIDE} y1={0} y2={HIGH} class="grid-line" />
          ))}
          {drawn.paths.map((d, i) => (
            <path key={i} d={d} style={{ fill: sides[i]?.color ?? "", stroke: sides[i]?.color ?? "" }} class="spread-path" />
          ))}
          {sides.map((s) => (
            <line key={s.words} x1={at(s.meanNs) * WIDE} x2={at(s.meanNs) * WIDE} y1={0} y2={HIGH} class="mean-line" style={{ stroke: s.color }} />
          ))}
        </svg>
        <div class="spread-ticks" aria-hidden="true">
          {drawn.ticks.map((t) => (
            <span key={t} class={at(t) > 0.95 ? "end" : at(t) < 0.05 ? "begin" : undefined} style={{ left: `${String(at(t) * 100)}%` }}>
              {duration(t)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}
