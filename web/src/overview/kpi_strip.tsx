import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk } from "../api/use_ask";
import { Sparkline } from "../charts/sparkline";
import { visible } from "../format/safe_text";
import { changeWords, duration, percent, rate } from "../format/units";
import { Fig } from "../parts/figure";
import { askedSeconds, type Range } from "../state/range";
import { before, sparkOf, sparkStep } from "./use_red";

const ROOT = "nestedSetParent < 0";
const DAY_MS = 86400e3;
const NOISE = 0.1;

interface Whole {
  rate: number;
  failed: number;
  p50: number | undefined;
  p95: number | undefined;
}

/** Figures of a whole range: the server counts at most a day at once. */
async function whole(range: Range, signal: AbortSignal): Promise<Whole> {
  const last = { fromMs: Math.max(range.fromMs, range.untilMs - DAY_MS + 120e3), untilMs: range.untilMs };
  const one = async (q: string) => (await get<MetricAnswer>("/api/metrics/query", { q, ...askedSeconds(last) }, signal)).data.series ?? [];
  const [count, failed, p] = await Promise.all([one(`{ ${ROOT} } | rate()`), one(`{ ${ROOT} && status = error } | rate()`), one(`{ ${ROOT} } | quantile_over_time(duration, .5, .95)`)]);
  const at = (share: number) => p.find((s) => Number(s.labels.find((l) => l.key === "p")?.value.doubleValue) === share)?.value;
  const all = count[0]?.value ?? 0;
  return { rate: all, failed: all > 0 ? (failed[0]?.value ?? 0) / all : 0, p50: at(0.5), p95: at(0.95) };
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

/** Requests that enter the system: traces by their first span. */
export function KpiStrip(props: { range: Range; marks: readonly number[] }) {
  const { range } = props;
  const step = sparkStep(range);
  const asks = useAsk<{ now: Whole; past: Whole | undefined }>(`whole ${JSON.stringify(range)}`, async (s) => {
    const [now, past] = await Promise.all([whole(range, s), whole(before(range), s).catch(() => undefined)]);
    return { data: { now, past }, partial: "" };
  });
  const lines = useAsk<{ rate: MetricAnswer; failed: MetricAnswer; p: MetricAnswer }>(`kpi lines ${JSON.stringify([range, step])}`, async (s) => {
    const [a, b, c] = await Promise.all([`{ ${ROOT} } | rate()`, `{ ${ROOT} && status = error } | rate()`, `{ ${ROOT} } | quantile_over_time(duration, .5, .95)`].map((q) => metrics(q, range, step, s, "0")));
    return { data: { rate: a?.data ?? {}, failed: b?.data ?? {}, p: c?.data ?? {} }, partial: "" };
  });
  const spark = useMemo(() => {
    const of = (a: MetricAnswer | undefined, i = 0) => sparkOf((a?.series ?? [])[i] ?? {}).values;
    return { rate: of(lines.data?.rate), failed: of(lines.data?.failed), p50: of(lines.data?.p, 0), p95: of(lines.data?.p, 1) };
  }, [lines.data]);
  if (asks.error) {
    return (
      <div class="card pad bad" role="alert">
        The figures of all requests failed: {visible(asks.error.message)}{" "}
        <button type="button" class="btn s" onClick={asks.again}>
          Try again
        </button>
      </div>
    );
  }
  const now = asks.data?.now;
  const past = asks.data?.past;
  const isLong = range.untilMs - range.fromMs > DAY_MS;
  const of = isLong ? ", last 24 h" : "";
  const ns = (n: number | undefined) => (n === undefined || n === 0 ? "–" : duration(n * 1e9));
  const moved = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined || isLong ? "" : changeWords(a, b));
  const worse = (a: number | undefined, b: number | undefined) => a !== undefined && b !== undefined && a > 0 && b / a - 1 > NOISE;
  const hint = "Against the time before, of the same length; coloured when it grew by more than a tenth";
  const common = { marks: props.marks, hint };
  return (
    <section class="card kpis" aria-label="Entry requests" aria-busy={asks.isLoading}>
      <Cell words={`Entry requests${of}`} text={now ? rate(now.rate) : "…"} change={moved(past?.rate, now?.rate)} isWorse={false} values={spark.rate} {...common} />
      <Cell words={`Failed${of}`} text={now ? percent(now.failed) : "…"} change={past && past.failed > 0 && now ? moved(past.failed, now.failed) : ""} isWorse={worse(past?.failed, now?.failed)} values={spark.failed} {...common} />
      <Cell words={`p50${of}`} text={now ? ns(now.p50) : "…"} change={moved(past?.p50, now?.p50)} isWorse={worse(past?.p50, now?.p50)} values={spark.p50} {...common} />
      <Cell words={`p95${of}`} text={now ? ns(now.p95) : "…"} change={moved(past?.p95, now?.p95)} isWorse={worse(past?.p95, now?.p95)} values={spark.p95} {...common} />
    </section>
  );
}
