import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer, Service } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { Sparkline } from "../charts/sparkline";
import { visible } from "../format/safe_text";
import { changeWords, countOf, duration, percent, rate, roughChange } from "../format/units";
import { Fig } from "../parts/figure";
import type { Range } from "../state/range";
import { between, pointsOf } from "../views/deploy_figures";
import { shareChange } from "../views/use_deploy_changes";
import { useCosts, type Costs } from "../views/use_costs";
import { BLOCKS, LEAST_BLOCKS, movedOf, partsOf, spreadOf, type Estimate, type Moved } from "./blocks";
import { cpuChangeOf, cpuPerRequest } from "./cpu_per_request";
import type { Call } from "./map_layout";
import { before, sparkOf, sparkStep } from "./use_red";
import { ENOUGH, NOISE } from "./worst";

const ROOT = "nestedSetParent < 0";

interface Whole {
  rate: number;
  failed: number;
  count: number;
  errors: number;
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
  const errors = some.reduce((n, s) => n + s.requests.errors, 0);
  return { rate: some.reduce((n, s) => n + s.requests.ratePerSecond, 0), failed: errors / count, count, errors, p50: has ? first.p50Ns : NaN, p95: has ? first.p95Ns : NaN };
}

interface Lines {
  readonly rate: MetricAnswer;
  readonly failed: MetricAnswer;
  readonly p: MetricAnswer;
}

/** `hasFailed`: with the rate of failures, which a comparison takes from counts. */
function useLines(range: Range | undefined, hasFailed: boolean): Asked<Lines> {
  return useAsk<Lines>(range ? `kpi lines ${JSON.stringify([range, hasFailed])}` : "", async (s) => {
    const of = range ?? { fromMs: 0, untilMs: 1 };
    const ask = (q: string) => metrics(q, of, sparkStep(of), s, "0").then((a) => a.data);
    const [rate, failed, p] = await Promise.all([ask(`{ ${ROOT} } | rate()`), hasFailed ? ask(`{ ${ROOT} && status = error } | rate()`) : {}, ask(`{ ${ROOT} } | quantile_over_time(duration, .5, .95)`)]);
    return { data: { rate, failed, p }, partial: "" };
  });
}

function pointsIn(a: MetricAnswer | undefined, range: Range, at = 0): (number[] | null)[] {
  const samples = (a?.series ?? [])[at]?.samples ?? [];
  return partsOf(samples.map((p) => ({ ms: Number(p.timestampMs), value: p.value ?? 0 })), range, sparkStep(range) * 1e3);
}

/** Requests in each part of the range. */
export function requestsIn(lines: Lines | undefined, range: Range): (number | null)[] {
  return pointsIn(lines?.rate, range).map((some) => some && some.reduce((n, v) => n + v, 0) * sparkStep(range));
}

/** Steps without requests have no quantile. */
function spreadIn(a: MetricAnswer | undefined, range: Range, at: number, isDuration: boolean): Estimate | undefined {
  return spreadOf(pointsIn(a, range, at).map((some) => some && some.filter((v) => !isDuration || v > 0)));
}

interface Told {
  readonly words: string;
  readonly hint: string;
  readonly isSure: boolean;
}

const NONE: Told = { words: "", hint: "", isSure: false };
const OF_ALL = "95 % intervals of these figures together, from ten parts of each period";

/** The change in words; what chance may explain is grey. Of quantiles, the interval is of their means over the parts of the time. */
function toldOf(words: string, was: number, is: number, moved: Moved | undefined, of: (n: number) => string, mark = "", isEnough = true): Told {
  if (words === "") return NONE;
  if (!moved) return { words, hint: `was ${mark}${of(was)}; too few parts of the time have data to say whether this is chance`, isSure: false };
  const { low, high } = moved;
  const isSure = isEnough && (is > was ? low > 0 : high < 0);
  const sign = (n: number) => (n < 0 ? `\u2212${of(-n)}` : `+${of(n)}`);
  return { words, hint: `was ${mark}${of(was)}; change ${between(sign(low), sign(high))}${isSure ? "" : ", may be chance"} (${OF_ALL})`, isSure };
}

function Cell(props: { words: string; text: string; told: Told; isMoreWorse: boolean; values: readonly (number | null)[]; marks: readonly number[]; hint: string }) {
  const { told } = props;
  const isUp = told.words.replace(/^~/, "").startsWith("+");
  return (
    <div class="kpi" title={[props.hint, told.hint].filter((t) => t !== "").join(". ")}>
      <span class="l">{props.words}</span>
      <span class="v">
        <Fig text={props.text} />
        {told.words !== "" && (
          <span class={told.isSure ? (props.isMoreWorse ? (isUp ? "d up" : "d down") : "d sure") : "d f3"}>
            {told.words}
            {!told.isSure && <span class="unseen"> may be chance</span>}
          </span>
        )}
      </span>
      <Sparkline values={props.values} color="var(--ink-2)" width={80} height={28} marks={props.marks} />
    </div>
  );
}

/** CPU time per request, of the services that have CPU profiles. */
function CpuCell(props: { costs: Costs; past: Costs; requests: readonly (number | null)[]; pastRequests: readonly (number | null)[]; services: readonly Service[]; marks: readonly number[] }) {
  const { costs, past } = props;
  if (costs.error) return <Cell words="CPU per request" text="failed" told={NONE} isMoreWorse values={[]} marks={[]} hint={`Profiles could not be loaded: ${visible(costs.error.message)}`} />;
  const now = cpuPerRequest(costs.of, props.requests);
  if (!now) return null;
  const change = past.of ? cpuChangeOf(costs.of, props.requests, past.of, props.pastRequests) : past.error ? `the time before could not be loaded: ${past.error.message}` : "";
  const told = typeof change === "string" ? { ...NONE, hint: visible(change) } : toldOf(changeWords(change.before, change.after), change.before, change.after, change.moved, duration);
  const names = new Set(props.services.map((s) => s.service));
  const has = now.some.filter((name) => names.has(name)).length;
  const of = has < names.size ? ` in ${String(has)} of ${countOf(names.size, "service")}` : "";
  const hint = `CPU time of ${has < names.size ? "the services that have CPU profiles" : "all services"}, divided by the entry requests; work that is done for no request counts, too`;
  return <Cell words={`CPU per request${of}`} text={duration(now.ns)} told={told} isMoreWorse values={now.parts} marks={props.marks} hint={hint} />;
}

/** Requests that enter the system, against the time before. What changed is coloured when chance does not explain it. */
export function KpiStrip(props: { range: Range; marks: readonly number[]; services: readonly Service[]; before: ReadonlyMap<string, Service>; calls: Asked<readonly Call[]>; costs: Costs; isLate: boolean }) {
  const { range, calls } = props;
  const earlier = useMemo(() => before(range), [range]);
  const entries = useMemo(() => entriesOf(props.services, calls.data ?? []), [props.services, calls.data]);
  const now = wholeOf(entries);
  const past = wholeOf(entries.map((s) => props.before.get(s.service)));
  const lines = useLines(calls.data || calls.error ? range : undefined, true);
  // What is compared with comes after what is shown.
  const old = useLines(props.isLate && lines.data && past ? earlier : undefined, false);
  const pastCosts = useCosts(props.costs.of && past ? earlier : undefined, false);
  const spark = useMemo(() => {
    const of = (a: MetricAnswer | undefined, i = 0) => sparkOf((a?.series ?? [])[i] ?? {}).values;
    return { rate: of(lines.data?.rate), failed: of(lines.data?.failed), p50: of(lines.data?.p, 0), p95: of(lines.data?.p, 1) };
  }, [lines.data]);
  const moves = useMemo(() => {
    if (!lines.data || !old.data) return undefined;
    const of = (key: keyof Lines, at: number, isDuration: boolean) => movedOf(spreadIn(old.data?.[key], earlier, at, isDuration), spreadIn(lines.data?.[key], range, at, isDuration));
    return { rate: of("rate", 0, false), p50: of("p", 0, true), p95: of("p", 1, true) };
  }, [lines.data, old.data, earlier, range]);
  const requests = useMemo(() => requestsIn(lines.data, range), [lines.data, range]);
  const pastRequests = useMemo(() => requestsIn(old.data, earlier), [old.data, earlier]);
  if (!now) return null;
  // Which services requests enter is known by the calls between them: until then these would be figures of something else.
  if (!calls.data && !calls.error)
    return (
      <section class="card kpis" aria-label="Entry requests" aria-busy="true">
        <div class="kpi">
          <span class="l">Entry requests</span>
          <span class="v">…</span>
        </div>
      </section>
    );
  const of = entries.length > 1 ? ` of ${visible(entries[0]?.service ?? "")}` : "";
  const hint = calls.error ? `The calls between services failed, so that requests are counted in each service: ${visible(calls.error.message)}` : lines.error ? `The lines failed: ${visible(lines.error.message)}` : "Compared with the preceding period of the same length";
  const common = { marks: props.marks, hint };
  const enough = (a: number, b: number) => a > 0 && Math.abs(b / a - 1) > NOISE && Math.min(past?.count ?? 0, now.count) >= ENOUGH;
  const seconds = (moved: Moved | undefined) => moved && { delta: moved.delta * 1e9, low: moved.low * 1e9, high: moved.high * 1e9 };
  const quantile = (key: "p50" | "p95") => (past ? toldOf(roughChange(past[key], now[key]), past[key], now[key], seconds(moves?.[key]), duration, "~", enough(past[key], now[key])) : NONE);
  const failed = past ? toldOf(changeWords(past.failed, now.failed), past.failed, now.failed, shareChange({ all: past.count, failed: past.errors }, { all: now.count, failed: now.errors }), pointsOf) : NONE;
  // Where data begins in the time before, its rate is that of the time without data.
  const filled = pastRequests.filter((n) => (n ?? 0) > 0).length;
  const grown = !past ? NONE : old.data && filled < LEAST_BLOCKS ? { ...NONE, hint: `not compared: requests in ${String(filled)} of ${String(BLOCKS)} parts of the preceding period only` } : toldOf(changeWords(past.rate, now.rate), past.rate, now.rate, moves?.rate, rate);
  return (
    <section class="card kpis" aria-label="Entry requests">
      <Cell words={calls.error ? "Requests of all services" : "Entry requests"} text={rate(now.rate)} told={grown} isMoreWorse={false} values={spark.rate} {...common} />
      <Cell words="Failed" text={percent(now.failed)} told={failed} isMoreWorse values={spark.failed} {...common} />
      <Cell words={`p50${of}`} text={`~${duration(now.p50)}`} told={quantile("p50")} isMoreWorse values={spark.p50} {...common} />
      <Cell words={`p95${of}`} text={`~${duration(now.p95)}`} told={quantile("p95")} isMoreWorse values={spark.p95} {...common} />
      {!calls.error && <CpuCell costs={props.costs} past={pastCosts} requests={requests} pastRequests={pastRequests} services={props.services} marks={props.marks} />}
    </section>
  );
}
