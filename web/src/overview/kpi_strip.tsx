import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer, Service } from "../api/types";
import { useAsk } from "../api/use_ask";
import { Sparkline } from "../charts/sparkline";
import { visible } from "../format/safe_text";
import { changeWords, duration, percent, rate, roughChange } from "../format/units";
import { Fig } from "../parts/figure";
import type { Range } from "../state/range";
import type { Call } from "./map_layout";
import { sparkOf, sparkStep } from "./use_red";

const ROOT = "nestedSetParent < 0";
const NOISE = 0.1;

interface Whole {
  rate: number;
  failed: number;
  p50: number;
  p95: number;
}

/** Services that no other one calls: by them requests enter the system. All of them where it is not known who calls whom. */
export function entriesOf(services: readonly Service[], calls: readonly Call[]): Service[] {
  const called = new Set(calls.filter((c) => c.parent !== c.child).map((c) => c.child));
  const entries = services.filter((s) => s.requests.count > 0 && !called.has(s.service));
  return (entries.length > 0 ? entries : services.filter((s) => s.requests.count > 0)).sort((a, b) => b.requests.count - a.requests.count);
}

/** Sums over the entries; durations of the first of them, the busiest now, since quantiles do not add up (NaN: it had no requests). */
export function wholeOf(entries: readonly (Service | undefined)[]): Whole | undefined {
  const some = entries.filter((s): s is Service => s !== undefined && s.requests.count > 0);
  if (some.length === 0) return undefined;
  const first = entries[0]?.requests;
  const has = first !== undefined && first.count > 0;
  const count = some.reduce((n, s) => n + s.requests.count, 0);
  return { rate: some.reduce((n, s) => n + s.requests.ratePerSecond, 0), failed: some.reduce((n, s) => n + s.requests.errors, 0) / count, p50: has ? first.p50Ns : NaN, p95: has ? first.p95Ns : NaN };
}

function Cell(props: { words: string; text: string; change: string; isWorse: boolean; values: readonly (number | null)[]; marks: readonly number[]; hint: string }) {
  return (
    <div class="kpi" title={props.hint}>
      <span class="l">{props.words}</span>
      <span class="v">
        <Fig text={props.text} />
        {props.change !== "" && <span class={props.isWorse ? "d up" : "d f3"}>{props.change}</span>}
      </span>
      <Sparkline values={props.values} color="var(--ink-2)" width={96} height={28} marks={props.marks} />
    </div>
  );
}

/** Requests that enter the system, against the time before. */
export function KpiStrip(props: { range: Range; marks: readonly number[]; services: readonly Service[]; before: ReadonlyMap<string, Service>; calls: readonly Call[] }) {
  const { range } = props;
  const step = sparkStep(range);
  const entries = useMemo(() => entriesOf(props.services, props.calls), [props.services, props.calls]);
  const now = wholeOf(entries);
  const past = wholeOf(entries.map((s) => props.before.get(s.service)));
  const lines = useAsk<{ rate: MetricAnswer; failed: MetricAnswer; p: MetricAnswer }>(`kpi lines ${JSON.stringify([range, step])}`, async (s) => {
    const [a, b, c] = await Promise.all([`{ ${ROOT} } | rate()`, `{ ${ROOT} && status = error } | rate()`, `{ ${ROOT} } | quantile_over_time(duration, .5, .95)`].map((q) => metrics(q, range, step, s, "0")));
    return { data: { rate: a?.data ?? {}, failed: b?.data ?? {}, p: c?.data ?? {} }, partial: "" };
  });
  const spark = useMemo(() => {
    const of = (a: MetricAnswer | undefined, i = 0) => sparkOf((a?.series ?? [])[i] ?? {}).values;
    return { rate: of(lines.data?.rate), failed: of(lines.data?.failed), p50: of(lines.data?.p, 0), p95: of(lines.data?.p, 1) };
  }, [lines.data]);
  if (!now) return null;
  const of = entries.length > 1 ? ` of ${visible(entries[0]?.service ?? "")}` : "";
  const worse = (a: number | undefined, b: number) => a !== undefined && a > 0 && b / a - 1 > NOISE;
  const hint = `Compared with the preceding period of the same length; coloured if it grew by more than 10 %${lines.error ? `. The lines failed: ${visible(lines.error.message)}` : ""}`;
  const common = { marks: props.marks, hint };
  const moved = (a: number | undefined, b: number) => (a === undefined ? "" : changeWords(a, b));
  const roughly = (a: number | undefined, b: number) => (a === undefined ? "" : roughChange(a, b));
  return (
    <section class="card kpis" aria-label="Entry requests">
      <Cell words="Entry requests" text={rate(now.rate)} change={moved(past?.rate, now.rate)} isWorse={false} values={spark.rate} {...common} />
      <Cell words="Failed" text={percent(now.failed)} change={moved(past?.failed, now.failed)} isWorse={worse(past?.failed, now.failed)} values={spark.failed} {...common} />
      <Cell words={`p50${of}`} text={`~${duration(now.p50)}`} change={roughly(past?.p50, now.p50)} isWorse={worse(past?.p50, now.p50)} values={spark.p50} {...common} />
      <Cell words={`p95${of}`} text={`~${duration(now.p95)}`} change={roughly(past?.p95, now.p95)} isWorse={worse(past?.p95, now.p95)} values={spark.p95} {...common} />
    </section>
  );
}
