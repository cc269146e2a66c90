// What a deploy changed per request: duration, CPU time and errors, each with its 95 % interval.

import type { Explain, MetricAnswer } from "../api/types";
import { metrics } from "../api/metrics";
import { useAsk } from "../api/use_ask";
import { count, duration, percent, signed } from "../format/units";
import { DEPLOY_ENTRY, type Deploy } from "../overview/use_deploys";
import type { Range } from "../state/range";
import { Whisker } from "./compare_time";

const Z = 1.96;
/** Changes of times are drawn on one scale in all rows: a share of the time before. */
const MOST = 0.5;

export interface Change {
  readonly delta: number;
  readonly low: number;
  readonly high: number;
}

/** Wilson's interval of a share. */
function wilson(k: number, n: number): [number, number] {
  const p = k / n;
  const middle = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n))) / (1 + (Z * Z) / n);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** The difference of two shares with Newcombe's interval, which holds for few and for no errors, too. */
export function shareChange(left: Counts, right: Counts): Change | undefined {
  if (left.all <= 0 || right.all <= 0) return undefined;
  const [a, b] = [left.failed / left.all, right.failed / right.all];
  const [la, ha] = wilson(left.failed, left.all);
  const [lb, hb] = wilson(right.failed, right.all);
  return { delta: b - a, low: b - a - Math.hypot(b - lb, ha - a), high: b - a + Math.hypot(hb - b, a - la) };
}

/** A difference of shares in percentage points; a minus sign where it is lower. */
export function pointsOf(n: number): string {
  return `${n < 0 ? "−" : ""}${(Math.abs(n) * 100).toFixed(Math.abs(n) < 0.0995 ? 1 : 0)} points`;
}

export interface Counts {
  readonly all: number;
  readonly failed: number;
}

/** Requests of a version, and those that failed. */
export function countsOf(answer: MetricAnswer | undefined, key: string, version: string): Counts {
  const out = { all: 0, failed: 0 };
  for (const s of answer?.series ?? []) {
    const of = (name: string) => s.labels.find((l) => l.key === name)?.value.stringValue;
    if (of(key) !== version) continue;
    const n = (s.samples ?? []).reduce((sum, p) => sum + (p.value ?? 0), 0);
    out.all += n;
    if (of("status") === "error") out.failed += n;
  }
  return out;
}

function Figure(props: { name: string; change: Change | undefined; none: string; words: (n: number) => string; scale: number }) {
  const { change: c } = props;
  const sure = c && (c.low > 0 || c.high < 0);
  return (
    <>
      <span class="f3">{props.name}</span>
      {c ? (
        <>
          <b class={sure ? (c.delta > 0 ? "more" : "less") : "f3"}>{sure || Math.abs(c.delta) > 0 ? signed(props.words(c.delta), c.delta) : "±0"}</b>
          <Whisker f={{ ...c, isSignificant: sure === true }} scale={{ low: -props.scale, high: props.scale }} />
          <span class="f3 rest">
            {signed(props.words(c.low), c.low)} to {signed(props.words(c.high), c.high)}
            {sure ? "" : ", may be chance"}
          </span>
        </>
      ) : (
        <span class="f3 rest">{props.none}</span>
      )}
    </>
  );
}

function timeOf(e: { low_ns: number | null; high_ns: number | null }, delta: number): Change | undefined {
  return e.low_ns === null || e.high_ns === null ? undefined : { delta, low: e.low_ns, high: e.high_ns };
}

/** A row of three for each deploy whose two versions are known. */
export function DeployFigures(props: { deploy: Deploy; range: Range; explain: Explain }) {
  const { deploy: d, explain: e, range } = props;
  const stepS = Math.max(1, Math.ceil((range.untilMs - range.fromMs) / 60e3));
  const of = (version: string) => `${d.key} = ${JSON.stringify(version)}`;
  const q = `{ resource.service.name = ${JSON.stringify(d.service)} && ${DEPLOY_ENTRY} && (${of(d.against)} || ${of(d.version)}) } | count_over_time() by (${d.key}, status)`;
  const counts = useAsk<MetricAnswer>(`deploy errors ${q} ${String(range.fromMs)} ${String(range.untilMs)}`, (s) => metrics(q, range, stepS, s, "0"));
  const cpu = e.parts.find((p) => p.part === "on_cpu");
  const [left, right] = [countsOf(counts.data, d.key, d.against), countsOf(counts.data, d.key, d.version)];
  const errors = shareChange(left, right);
  const before = (ns: number | undefined) => MOST * Math.max(1, ns ?? 0);
  return (
    <span class="dfigs" role="group" aria-label="Change per request, with 95 % intervals">
      <Figure name="duration" change={timeOf(e, e.duration_ns)} none="too few spans" words={duration} scale={before(e.before_ns)} />
      <Figure name="CPU" change={cpu && timeOf(cpu, cpu.ns)} none={e.low_ns === null ? "too few spans" : "not measured, or equal"} words={duration} scale={before(e.before_ns)} />
      <Figure name="errors" change={errors} none={counts.error ? "could not be counted" : counts.data ? "no requests of both" : "…"} words={pointsOf} scale={Math.max(0.05, Math.abs(errors?.low ?? 0), Math.abs(errors?.high ?? 0))} />
      {errors && (
        <span class="f3 rest">
          {percent(left.failed / left.all)} of {count(left.all)} failed before, {percent(right.failed / right.all)} of {count(right.all)} after
        </span>
      )}
    </span>
  );
}
