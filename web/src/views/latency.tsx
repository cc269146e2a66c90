import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk } from "../api/use_ask";
import { heatOf, spansOf } from "../charts/heat";
import { HeatKey, Heatmap, type Box } from "../charts/heatmap";
import type { Mark } from "../charts/line_chart";
import { countOf, duration, queryDuration } from "../format/units";
import { ViewLink } from "../parts/link";
import { AskedFrame } from "../parts/states";
import type { Range } from "../state/range";
import { change, goTo, within } from "../state/url";
import { useUrl } from "../state/use_url";

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600];

/** A round step for about 80 columns. */
export function stepOf(range: Range): number {
  const want = (range.untilMs - range.fromMs) / 1e3 / 80;
  return STEPS_S.find((s) => s >= want) ?? 43200;
}

export function boxText(b: Box): string {
  return [b.fromMs, b.untilMs, b.minNs, b.maxNs].map((n) => Math.round(n)).join("-");
}

export function boxOf(text: string | undefined): Box | undefined {
  const [fromMs, untilMs, minNs, maxNs] = (text ?? "").split("-").map(Number);
  if (fromMs === undefined || untilMs === undefined || minNs === undefined || maxNs === undefined || ![fromMs, untilMs, minNs, maxNs].every(Number.isFinite)) return undefined;
  return { fromMs, untilMs, minNs, maxNs };
}

/** The same without a mouse: the box as two fields. */
function ByKeys(props: { range: Range }) {
  const submit = (e: Event & { currentTarget: HTMLFormElement }) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const ns = (name: string) => {
      const text = form.get(name);
      return typeof text === "string" ? Number(text) * 1e6 : NaN;
    };
    const [min, max] = [ns("min"), ns("max")];
    if (min >= 0 && max > min) change({ box: boxText({ ...props.range, minNs: min, maxNs: max }) });
  };
  return (
    <details class="note">
      <summary>Without a mouse: a box by its durations</summary>
      <form class="row" onSubmit={submit}>
        <label>
          At least <input name="min" type="number" min="0" step="any" size={8} /> ms
        </label>
        <label>
          at most <input name="max" type="number" min="0" step="any" size={8} /> ms
        </label>
        <button type="submit">Choose these spans</button>
      </form>
    </details>
  );
}

/** `inner` is what stands between the braces of the spans examined. */
export function Latency(props: { inner: string; range: Range; height?: number; title: string; marks?: readonly Mark[]; onMark?: (m: Mark) => void }) {
  const url = useUrl();
  const { range, inner } = props;
  const q = `{ ${inner} } | histogram_over_time(duration) with(exemplars=100)`;
  const answer = useAsk<MetricAnswer>(JSON.stringify([q, range]), (s) => metrics(q, range, stepOf(range), s, "100"));
  const heat = useMemo(() => heatOf(answer.data ?? {}), [answer.data]);
  const box = boxOf(url["box"]);
  const both = (a: string) => (inner === "" ? a : `(${inner}) && ${a}`);
  const ask = (b: Box) => {
    const min = queryDuration(b.minNs, Math.floor);
    const max = queryDuration(b.maxNs, Math.ceil);
    return {
      view: "compare",
      form: "box",
      right: `{ ${both(`duration >= ${min} && duration <= ${max}`)} }`,
      left: `{ ${both(`(duration < ${min} || duration > ${max})`)} }`,
      from: String(Math.floor(b.fromMs)),
      until: String(Math.ceil(b.untilMs)),
    };
  };
  return (
    <AskedFrame what="the durations" asked={answer} empty={(d) => ((d.series ?? []).length === 0 ? <p>No spans in this time range.</p> : undefined)}>
      {(d) => (
        <div class="card heat-card">
          <header>
            <h2>
              Duration <span class="f3">{props.title}, {countOf(spansOf(heat), "span")}</span>
            </h2>
            <span class="spring" />
            <span class="f3 sm m-hide">Drag a box to explain slow spans · a dot is a trace</span>
            <HeatKey max={heat.max} stepS={stepOf(range)} />
          </header>
          {d.status === "PARTIAL" && <p class="note warn">This chart is partial: {d.message}</p>}
          <Heatmap
            heat={heat}
            fromMs={range.fromMs}
            untilMs={range.untilMs}
            box={box}
            {...(props.height === undefined ? {} : { height: props.height })}
            {...(props.marks ? { marks: props.marks } : {})}
            {...(props.onMark ? { onMark: props.onMark } : {})}
            onDot={(trace) => goTo(within(url, { view: "trace", id: trace, pane: "why" }))}
            onBox={(b) => change({ box: boxText(b) })}
          />
          {box && (
            <div class="box-says row" role="group" aria-label="The chosen spans">
              <b>
                Spans of {duration(box.minNs)} to {duration(box.maxNs)}
              </b>
              <ViewLink to={ask(box)} class="btn main s" label="Why slow? Compare these spans with the rest">
                Why slow?
              </ViewLink>
              <ViewLink to={{ view: "search", q: ask(box).right, from: ask(box).from, until: ask(box).until }} class="btn s">
                Traces
              </ViewLink>
              <button type="button" class="btn s" onClick={() => change({ from: String(Math.round(box.fromMs)), until: String(Math.round(box.untilMs)), box: "" })}>
                Zoom in time
              </button>
              <button type="button" class="btn s" onClick={() => change({ box: "" })}>
                Clear
              </button>
            </div>
          )}
          <ByKeys range={range} />
        </div>
      )}
    </AskedFrame>
  );
}
