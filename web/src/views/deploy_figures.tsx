// The cells of a deploy: what it changed per request, with the 95 % interval drawn and in words.

import { ApiError } from "../api/client";
import { visible } from "../format/safe_text";
import { count, duration, percent, signed } from "../format/units";
import { hasSides, type Deploy } from "../overview/use_deploys";
import { Sentence } from "../why/sentence";
import { Whisker } from "./compare_time";
import { cpuChange, durationChange, errorsChange, isExplained, type Change, type DeployChange } from "./use_deploy_changes";

/** Changes of times are drawn on a scale of at least half the time before, errors of at least 5 percentage points: small ones look small. */
const LEAST_SHARE = 0.5;
const LEAST_POINTS = 0.05;

/** A difference of shares in percentage points; a minus sign where it is lower. */
export function pointsOf(n: number): string {
  return `${n < 0 ? "−" : ""}${(Math.abs(n) * 100).toFixed(Math.abs(n) < 0.0995 ? 1 : 0)} points`;
}

/** "+19 to +44 points": the unit once, where both ends have it. */
export function between(low: string, high: string): string {
  const unit = (t: string) => t.slice(t.search(/[^\d.,+−~-]/));
  return unit(low) === unit(high) ? `${low.replace(unit(low), "")} to ${high}` : `${low} to ${high}`;
}

function isSure(c: Change | undefined): boolean {
  return c !== undefined && (c.low > 0 || c.high < 0);
}

function Figure(props: { change: Change | undefined; none: string; words: (n: number) => string; scale: number; more?: string }) {
  const { change: c } = props;
  if (!c) return <span class="f3 sm">{props.none}</span>;
  const sure = isSure(c);
  const scale = Math.max(props.scale, Math.abs(c.low), Math.abs(c.high));
  return (
    <span class="dfig">
      <b class={sure ? (c.delta > 0 ? "more" : "less") : "f3"}>{sure || Math.abs(c.delta) > 0 ? signed(props.words(c.delta), c.delta) : "±0"}</b>
      <Whisker f={{ ...c, isSignificant: sure }} scale={{ low: -scale, high: scale }} />
      <span class="f3">{between(signed(props.words(c.low), c.low), signed(props.words(c.high), c.high))}</span>
      {!sure && <span class="f3">may be chance</span>}
      {props.more !== undefined && <span class="f3">{props.more}</span>}
    </span>
  );
}

/** Of a deploy that is not explained, the verdict has the reason. */
function noneOf(d: Deploy, c: DeployChange | undefined, words: (explain: Exclude<DeployChange["explain"], ApiError>) => string): string {
  if (!isExplained(d)) return "";
  if (c === undefined) return "…";
  return c.explain instanceof ApiError ? "failed" : words(c.explain);
}

function before(c: DeployChange | undefined): number {
  return LEAST_SHARE * Math.max(1, c === undefined || c.explain instanceof ApiError ? 0 : (c.explain.before_ns ?? 0));
}

export function DurationChange(props: { deploy: Deploy; change: DeployChange | undefined }) {
  const { deploy: d, change: c } = props;
  return <Figure change={durationChange(c)} none={noneOf(d, c, () => "too few spans")} words={duration} scale={before(c)} />;
}

export function CpuChange(props: { deploy: Deploy; change: DeployChange | undefined }) {
  const { deploy: d, change: c } = props;
  return <Figure change={cpuChange(c)} none={noneOf(d, c, (e) => (e.low_ns === null ? "too few spans" : "not measured, or equal"))} words={duration} scale={before(c)} />;
}

export function ErrorsChange(props: { deploy: Deploy; change: DeployChange | undefined }) {
  const { deploy: d, change: c } = props;
  if (c?.counts === undefined || c.counts instanceof ApiError) return <span class="f3 sm">{c?.counts === undefined ? noneOf(d, undefined, () => "") : "could not be counted"}</span>;
  const { left, right } = c.counts;
  const e = errorsChange(c);
  const share = (x: typeof left) => `${percent(x.failed / x.all)} of ${count(x.all)}`;
  return <Figure change={e} none="no requests of both" words={pointsOf} scale={LEAST_POINTS} {...(e ? { more: `${share(left)}, then ${share(right)}` } : {})} />;
}

/** What a deploy changed, in a sentence with its significance; or why that is not known. */
export function DeployVerdict(props: { deploy: Deploy; change: DeployChange | undefined }) {
  const { deploy: d, change: c } = props;
  if (!d.isSeen) return <span class="f3 sm">reported, but not seen in spans or profiles yet</span>;
  if (d.key === "") return <span class="f3 sm">seen in profiles, not in spans</span>;
  if (!isExplained(d)) return <span class="f3 sm">{hasSides(d) ? "see the row of its commit" : "the version before it is not known"}</span>;
  if (c === undefined) return <span class="faint">…</span>;
  const e = c.explain;
  if (e instanceof ApiError) return <span class="bad sm">failed: {visible(e.message)}</span>;
  const sure = isSure(durationChange(c));
  return (
    <span class="verdict">
      <span class={sure ? (e.duration_ns > 0 ? "chip bad" : "chip good") : "chip"}>{sure ? (e.duration_ns > 0 ? "slower" : "faster") : e.low_ns === null ? "too little data" : "may be chance"}</span>{" "}
      <Sentence text={e.sentence || e.reason} parts={e.parts} />
    </span>
  );
}
