import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk } from "../api/use_ask";
import { heatOf, type Heat } from "../charts/heat";
import { Heatmap, type Box } from "../charts/heatmap";
import { duration, moment, queryDuration } from "../format/units";
import { FirstOf } from "../parts/first_of";
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

/** The same without a mouse: the dots as a list, the box as two fields. */
function ByKeys(props: { heat: Heat; range: Range }) {
  const dots = useMemo(() => [...props.heat.dots].sort((a, b) => b.seconds - a.seconds), [props.heat]);
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
      <summary>Without a mouse: the dots as a list, a box by its durations</summary>
      <form class="row" onSubmit={submit}>
        <label>
          At least <input name="min" type="number" min="0" step="any" size={8} /> ms
        </label>
        <label>
          at most <input name="max" type="number" min="0" step="any" size={8} /> ms
        </label>
        <button type="submit">Choose these spans</button>
      </form>
      <ul>
        <FirstOf rows={dots} max={25} things="traces">
          {(d) => (
            <li key={`${d.trace} ${String(d.ms)}`}>
              <ViewLink to={{ view: "trace", id: d.trace }}>
                {duration(d.seconds * 1e9)} at {moment(d.ms).slice(11, 23)}
              </ViewLink>
            </li>
          )}
        </FirstOf>
      </ul>
    </details>
  );
}

/** `inner` is what stands between the braces of the spans looked at. */
export function Latency(props: { inner: string; range: Range; height?: number }) {
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
      right: `{ ${both(`duration >= ${min} && duration <= ${max}`)} }`,
      left: `{ ${both(`(duration < ${min} || duration > ${max})`)} }`,
      from: String(Math.floor(b.fromMs)),
      until: String(Math.ceil(b.untilMs)),
    };
  };
  return (
    <AskedFrame asked={answer} empty={(d) => ((d.series ?? []).length === 0 ? <p>No spans in this time range.</p> : undefined)}>
      {(d) => (
        <div class="panel pad">
          {d.status === "PARTIAL" && <p class="note warn">This chart is partial: {d.message}</p>}
          <Heatmap
            heat={heat}
            fromMs={range.fromMs}
            untilMs={range.untilMs}
            box={box}
            {...(props.height === undefined ? {} : { height: props.height })}
            onDot={(trace) => goTo(within(url, { view: "trace", id: trace }))}
            onBox={(b) => change({ box: boxText(b) })}
          />
          <p class="note row">
            {box ? (
              <>
                <b>
                  Spans of {duration(box.minNs)} to {duration(box.maxNs)}:
                </b>
                <ViewLink to={ask(box)} class="button main">
                  Compare these spans with the rest
                </ViewLink>
                <ViewLink to={{ view: "search", q: ask(box).right, from: ask(box).from, until: ask(box).until }} class="button">
                  List them
                </ViewLink>
                <button type="button" onClick={() => change({ from: String(Math.round(box.fromMs)), until: String(Math.round(box.untilMs)), box: "" })}>
                  Zoom in time
                </button>
                <button type="button" onClick={() => change({ box: "" })}>
                  Clear
                </button>
              </>
            ) : (
              "A dot is a trace: click it. Drag a box over slow spans to compare them with the rest."
            )}
          </p>
          <ByKeys heat={heat} range={range} />
        </div>
      )}
    </AskedFrame>
  );
}
