// Profiles by service, type, labels and time; two ranges or label sets as a difference.

import { useMemo, useState } from "preact/hooks";
import { call, get, type Answer, type Query } from "../api/client";
import type { MetricAnswer, Profile } from "../api/types";
import { useAsk } from "../api/use_ask";
import { LineChart, type Line, type Mark } from "../charts/line_chart";
import { FlameGraph } from "../flame/flame_graph";
import { diffOf, treeOf, type Tree } from "../flame/tree";
import type { Deeper } from "../flame/use_whole";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { useDeploys } from "../overview/use_deploys";
import { countOf, duration, moment, short, value } from "../format/units";
import { LabelChips } from "../parts/label_chips";
import { ViewLink } from "../parts/link";
import { AskedFrame, Empty, Failure } from "../parts/states";
import { TypeChoice } from "../parts/type_choice";
import { asked, askedSeconds, type Range } from "../state/range";
import { useHead } from "../state/head";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { inOrder, typeWords } from "../trace/span_profile";
import { stepOf } from "./latency";

interface Types {
  profileTypes?: { ID: string }[];
}
interface Series {
  series?: { labels: { name: string; value: string }[]; points: { value: number; timestamp: string }[] }[];
}
interface LabelSets {
  labelsSet?: { labels: { name: string; value: string }[] }[];
}

export function selectorOf(service: string, labels: string): string {
  const parts = service === "" ? [] : [`service_name=${JSON.stringify(service)}`];
  if (labels.trim() !== "") parts.push(labels.trim());
  return `{${parts.join(", ")}}`;
}

const times = (r: Range) => ({ start: String(Math.floor(r.fromMs)), end: String(Math.ceil(r.untilMs)) });

/** Bars an answer has at most; what is smaller is summed up, and requested when somebody looks there. */
const MOST_NODES = "200000";

interface Question {
  readonly service: string;
  readonly type: string;
  readonly labels: string;
  readonly range: Range;
}

function queryOf(q: Question): Query {
  return { selector: selectorOf(q.service, q.labels), type: q.type, ...asked(q.range) };
}

async function merged(q: Question, nodes: string, stack: readonly string[], signal: AbortSignal): Promise<Answer<Profile>> {
  const sites = stack.map((name) => `&call_site=${encodeURIComponent(name)}`).join("");
  return get<Profile>("/api/v1/profile", { ...queryOf(q), max_nodes: nodes, format: "json" }, signal, sites);
}

/** Requests a service was asked in the range: what it serves and consumes. */
async function requestsOf(service: string, range: Range, signal: AbortSignal): Promise<number> {
  const q = `{ resource.service.name = ${JSON.stringify(service)} && (kind = server || kind = consumer) } | count_over_time()`;
  const answer = await get<MetricAnswer>("/api/metrics/query", { q, ...askedSeconds(range) }, signal);
  return (answer.data.series ?? []).reduce((n, s) => n + (s.value ?? 0), 0);
}

function rangeText(r: Range): string {
  return `${String(Math.round(r.fromMs))}-${String(Math.round(r.untilMs))}`;
}

function rangeFrom(text: string | undefined): Range | undefined {
  const m = /^(\d+)-(\d+)$/.exec(text ?? "");
  return m ? { fromMs: Number(m[1]), untilMs: Number(m[2]) } : undefined;
}

function Chart(props: { service: string; selector: string; type: string; range: Range; baseline: Range | undefined; picking: boolean; onRange: (r: Range) => void }) {
  const step = stepOf(props.range);
  const body = { ...times(props.range), profileTypeID: props.type, labelSelector: props.selector, step, groupBy: ["service_name"] };
  const series = useAsk<Series>(props.type === "" ? "" : JSON.stringify(body), (s) => call("SelectSeries", body, s));
  const { asked: versions, deploys } = useDeploys(props.range, props.service);
  const marks = useMemo((): Mark[] => deploys.map((d) => ({ words: d.version, ms: d.ms })), [deploys]);
  const unit = props.type.split(":")[2] ?? "";
  const format = useMemo(() => (n: number) => value(n, unit), [unit]);
  const { grid, lines, left } = useMemo(() => {
    const all = series.data?.series ?? [];
    const at = new Set(all.flatMap((s) => s.points.map((p) => Number(p.timestamp))));
    const grid = [...at].sort((a, b) => a - b);
    const lines: Line[] = all.slice(0, 12).map((s) => {
      const name = s.labels.map((l) => l.value).join(" ");
      const points = new Map(s.points.map((p) => [Number(p.timestamp), p.value]));
      return { name: visible(name), color: serviceColor(name), values: grid.map((t) => points.get(t) ?? null) };
    });
    return { grid, lines, left: all.length - lines.length };
  }, [series.data]);
  return (
    <AskedFrame what="the chart" asked={series} empty={() => (grid.length === 0 ? <p>No profiles of this type in the time range.</p> : undefined)}>
      {() => <>
        <div class="card pad"><LineChart title={props.picking ? "Drag over the baseline" : `${typeWords(props.type)} per ${String(step)} s`} times={grid} {...props.range} lines={lines} format={format} marks={marks} height={96} isArea onRange={(fromMs, untilMs) => props.onRange({ fromMs, untilMs })} /></div>
        {left > 0 && <p class="note">{lines.length} of {lines.length + left} services are drawn; choose one to see it.</p>}
        {versions.error && <p class="note warn">Could not ask for versions: {visible(versions.error.message)}</p>}
      </>}
    </AskedFrame>
  );
}

interface Sides {
  readonly left: Profile | undefined;
  readonly right: Profile;
  readonly requests: { left: number; right: number } | undefined;
}

/** Ranges of different length are made equal; or each side to the same sum, which shows shares. */
function treeFrom(a: Profile | undefined, b: Profile, leftScale: number): Tree {
  return a ? diffOf(a, b, leftScale, 1) : treeOf(b);
}

/** How the baseline was made comparable. */
function Scaled(props: { by: number; isPerRequest: boolean; byShare: boolean; isSide: boolean; own: Range; other: Range }) {
  const length = (r: Range) => duration((r.untilMs - r.fromMs) * 1e6);
  if (props.isSide || props.isPerRequest || Math.abs(props.by - 1) < 1e-3) return null;
  return (
    <span class="note scaled">
      The baseline is multiplied by {short(props.by)}
      {props.byShare ? ": both sides have the same sum." : `: it covers ${length(props.other)}, the comparison ${length(props.own)}.`}
    </span>
  );
}

function Against(props: { left: Profile; baseline: Range | undefined; baseLabels: string | undefined; byShare: boolean; isSide: boolean }) {
  const { left, baseline } = props;
  return (
    <>
      <span class="faint">
        against {value(left.total, left.unit)}
        {baseline ? ` of ${moment(baseline.fromMs).slice(5, 19)} – ${moment(baseline.untilMs).slice(11, 19)}` : ` of {${visible(props.baseLabels ?? "")}}`}
      </span>
      <label class="check" title="Both sides scaled to the same sum">
        <input type="checkbox" checked={props.byShare} onChange={(e) => change({ shares: e.currentTarget.checked ? "1" : "", fd: "" })} /> compare shares
      </label>
      <label class="check">
        <input type="checkbox" checked={props.isSide} onChange={(e) => change({ side: e.currentTarget.checked ? "1" : "", fz: "", gz: "" })} /> side by side
      </label>
    </>
  );
}

function Graph(props: { service: string; type: string; labels: string; range: Range; baseline: Range | undefined; baseLabels: string | undefined }) {
  const { service, type, labels, range } = props;
  const url = useUrl();
  const nodes = /^[1-9]\d{0,5}$/.test(url["nodes"] ?? "") ? (url["nodes"] ?? MOST_NODES) : MOST_NODES;
  const isDiff = props.baseline !== undefined || props.baseLabels !== undefined;
  const key = type === "" ? "" : JSON.stringify([service, type, labels, range, isDiff ? [props.baseline, props.baseLabels] : "", nodes]);
  const { own, other } = useMemo(
    () => ({ own: { service, type, labels, range }, other: { service, type, labels: props.baseLabels ?? labels, range: props.baseline ?? range } }),
    [key],
  );
  const both = useAsk<Sides>(key, async (s) => {
    const counted = isDiff && service !== "" ? Promise.all([requestsOf(service, other.range, s), requestsOf(service, range, s)]).catch((e: unknown) => (e instanceof Error ? e : new Error(String(e)))) : undefined;
    const [right, base] = await Promise.all([merged(own, nodes, [], s), isDiff ? merged(other, nodes, [], s) : undefined]);
    const n = (await counted) ?? [];
    const [a = 0, b = 0] = n instanceof Error ? [] : n;
    const failed = n instanceof Error ? `requests could not be counted, so values per request are not available: ${n.message}` : "";
    return { data: { left: base?.data, right: right.data, requests: a > 0 && b > 0 ? { left: a, right: b } : undefined }, partial: right.partial || (base?.partial ?? "") || failed };
  });
  const byShare = url["shares"] === "1";
  const isSide = isDiff && url["side"] === "1";
  const span = (r: Range) => Math.max(1, r.untilMs - r.fromMs);
  // Per request, sums are divided by requests; the length of the ranges does not matter then.
  const isPerRequest = url["fd"] === "request" && both.data?.requests !== undefined;
  const leftScale = isPerRequest ? 1 : byShare ? (both.data?.left && both.data.left.total > 0 ? both.data.right.total / both.data.left.total : 1) : span(range) / span(other.range);
  const tree = useMemo(() => both.data && treeFrom(isSide ? undefined : both.data.left, both.data.right, leftScale), [both.data, leftScale, isSide]);
  const base = useMemo(() => (isSide && both.data?.left ? treeOf(both.data.left) : undefined), [both.data, isSide]);
  const isCut = both.data?.right.isCut === true || both.data?.left?.isCut === true;
  const deeper = useMemo<Deeper | undefined>(() => {
    if (!isCut) return undefined;
    return async (stack, signal) => {
      const [b, a] = await Promise.all([merged(own, MOST_NODES, stack, signal), isDiff && !isSide ? merged(other, MOST_NODES, stack, signal) : undefined]);
      return { data: treeFrom(a?.data, b.data, leftScale), partial: b.partial };
    };
  }, [isCut, own, other, isDiff, isSide, leftScale]);
  const deeperLeft = useMemo<Deeper | undefined>(() => {
    if (!isCut) return undefined;
    return async (stack, signal) => {
      const a = await merged(other, MOST_NODES, stack, signal);
      return { data: treeOf(a.data), partial: a.partial };
    };
  }, [isCut, other]);
  return (
    <AskedFrame what="the profiles" asked={both} empty={(d) => (d.right.total + (d.left?.total ?? 0) === 0 ? <p>No samples here.</p> : undefined)}>
      {(d) => (
        <>
          <p class="row pad-x">
            <b>{value(d.right.total, d.right.unit)}</b> <span class="faint">{d.right.samples > 0 ? countOf(d.right.samples, "sample") : ""}</span>
            {d.left && <Scaled by={leftScale} isPerRequest={isPerRequest} byShare={byShare} isSide={isSide} own={range} other={other.range} />}
            {d.left && <Against left={d.left} baseline={props.baseline} baseLabels={props.baseLabels} byShare={byShare} isSide={isSide} />}
          </p>
          <div class="two-graphs">
            {base && <FlameGraph tree={base} label="Flame graph of the baseline" prefix="g" deeper={deeperLeft} service={service} server={{ path: "/api/v1/profile", query: queryOf(other) }} />}
            {tree && (
              <FlameGraph
                tree={tree}
                label="Flame graph"
                deeper={deeper}
                service={service}
                mayHideStart={true}
                requests={isSide ? undefined : d.requests}
                {...(tree.otherTotal ? {} : { server: { path: "/api/v1/profile", query: queryOf(own) } })}
              />
            )}
          </div>
        </>
      )}
    </AskedFrame>
  );
}

export function Profiles(props: { range: Range }) {
  const url = useUrl();
  const { range } = props;
  const [picking, setPicking] = useState(false);
  const service = url["service"] ?? "";
  const labels = url["labels"] ?? "";
  const baseline = rangeFrom(url["base"]);
  const sets = useAsk<LabelSets>(JSON.stringify(times(range)), (s) => call("Series", { ...times(range), matchers: [], labelNames: ["service_name", "__profile_type__"] }, s));
  const types = useAsk<Types>(`types ${JSON.stringify(times(range))}`, (s) => call("ProfileTypes", times(range), s));
  useHead(service === "" ? "Profiles" : `Profiles of ${visible(service)}`, service, service);
  const failed = types.error ?? sets.error;
  const askBoth = () => {
    types.again();
    sets.again();
  };
  const services = useMemo(() => {
    const all = new Map<string, Set<string>>();
    for (const set of sets.data?.labelsSet ?? []) {
      const of = (n: string) => set.labels.find((l) => l.name === n)?.value ?? "";
      const name = of("service_name");
      if (name === "") continue;
      all.set(name, (all.get(name) ?? new Set()).add(of("__profile_type__")));
    }
    return all;
  }, [sets.data]);
  const shown = service === "" ? inOrder((types.data?.profileTypes ?? []).map((t) => t.ID)) : inOrder([...(services.get(service) ?? [])]);
  // A whole type, or its sample type alone: "inuse_space".
  const named = shown.find((t) => t === url["type"] || t.split(":")[1] === url["type"]);
  const type = named ?? (shown.find((t) => t.includes(":cpu:")) ?? shown[0] ?? "");
  const onRange = (r: Range) => {
    if (picking) {
      setPicking(false);
      change({ base: rangeText(r) });
    } else change({ from: String(Math.round(r.fromMs)), until: String(Math.round(r.untilMs)) });
  };
  return (
    <section aria-labelledby="page-title" class="column fixed">
      <div class="row">
        <label>
          Service{" "}
          <select value={service} onChange={(e) => change({ service: e.currentTarget.value, type: "", fz: "" })}>
            <option value="">all</option>
            {[...services.keys()].sort().map((s) => (
              <option key={s} value={s}>
                {visible(s)}
              </option>
            ))}
          </select>
        </label>
        <TypeChoice types={shown} type={type} onType={(t) => change({ type: t, fz: "" })} />
        <LabelChips id="labels" words="Labels" text={labels} selector={selectorOf(service, "")} range={range} onChange={(text) => change({ labels: text, fz: "" })} />
      </div>
      <div class="row">
        <button type="button" aria-pressed={picking} onClick={() => setPicking(!picking)}>
          {baseline ? "Pick another baseline" : "Compare with a time before: drag it on the chart"}
        </button>
        <span class="f3">or</span>
        <LabelChips id="base" words="Compare with labels" text={url["baseLabels"] ?? ""} selector={selectorOf(service, "")} range={range} onChange={(text) => change({ baseLabels: text, fz: "" })} />
        {(baseline !== undefined || url["baseLabels"] !== undefined) && (
          <button type="button" onClick={() => change({ base: "", baseLabels: "", shares: "", fz: "" })}>
            No comparison
          </button>
        )}
      </div>
      {failed && <Failure what="the types of profiles" sentence={failed.message} status={failed.status} retryAfterS={failed.retryAfterS} again={askBoth} />}
      {types.data && shown.length === 0 && !sets.isLoading && !failed ? (
        <Empty>
          <p>No profiles in this time range.</p>
          <div class="row">
            <button type="button" class="btn main" onClick={() => change({ from: "now-7d", until: "now" })}>
              Show the last 7 days
            </button>
            <ViewLink to={{ view: "coverage" }} class="btn">
              What is missing
            </ViewLink>
          </div>
        </Empty>
      ) : (
        <>
          <Chart service={service} selector={selectorOf(service, labels)} type={type} range={range} baseline={baseline} picking={picking} onRange={onRange} />
          <div class="panel graph-part">
            <Graph service={service} type={type} labels={labels} range={range} baseline={baseline} baseLabels={url["baseLabels"]} />
          </div>
        </>
      )}
    </section>
  );
}
