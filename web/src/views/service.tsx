import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import { metrics } from "../api/metrics";
import type { MetricAnswer, MetricSeries, Operation, Services } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { LineChart, type Mark } from "../charts/line_chart";
import { visible } from "../format/safe_text";
import { changeWords, count, countOf, duration, ESTIMATE, percent, rate } from "../format/units";
import { BLOCKS, movedOf, partsOf, spreadOf, type Moved } from "../overview/blocks";
import { before, ENTRY } from "../overview/use_red";
import { deployLink, hasSides, useDeploys, type Deploy } from "../overview/use_deploys";
import { Fig } from "../parts/figure";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { useHead } from "../state/head";
import { asked, type Range } from "../state/range";
import { change, goTo, params, within } from "../state/url";
import { useUrl } from "../state/use_url";
import { CpuChange, DeployVerdict, DurationChange, ErrorsChange } from "./deploy_figures";
import { Latency, stepOf } from "./latency";
import { plain } from "../trace/rows";
import { asDuration, linesOf, perSecond, useMetrics } from "./series";
import { isExplained, keyOf, useDeployChanges } from "./use_deploy_changes";

const COLORS = ["var(--ink-2)", "var(--accent)", "var(--accent)"];

/** Rate, failures and duration over time, below one another in time; what has no data is one line of text. */
function Charts(props: { inner: string; range: Range; marks: readonly Mark[]; onMark: (m: Mark) => void }) {
  const { inner, range } = props;
  const step = stepOf(range);
  const requests = useMetrics(`{ ${inner} } | rate()`, range, step);
  const errors = useMetrics(`{ ${inner} && status = error } | rate()`, range, step);
  const quantiles = useMetrics(`{ ${inner} } | quantile_over_time(duration, .5, .95, .99)`, range, step);
  const a = useMemo(() => linesOf(requests.data, () => "requests", () => "var(--ink-2)"), [requests.data]);
  const b = useMemo(() => linesOf(errors.data, () => "errors", () => "var(--bad)"), [errors.data]);
  const c = useMemo(() => {
    const drawn = linesOf(quantiles.data, (_, l) => `p${String(Math.round(Number(l) * 100))}`, (i) => COLORS[i] ?? "var(--accent)", true);
    return { ...drawn, lines: drawn.lines.map((l) => (l.name === "p99" ? { ...l, isDashed: true } : l)) };
  }, [quantiles.data]);
  const onRange = (from: number, until: number) => change({ from: String(Math.round(from)), until: String(Math.round(until)) });
  const failure = (what: string, of: Asked<MetricAnswer>) => of.error && <Failure what={what} sentence={of.error.message} status={of.error.status} retryAfterS={of.error.retryAfterS} again={of.again} />;
  const common = { onRange, ...range, marks: props.marks, onMark: props.onMark, height: 104 };
  const hasErrors = b.lines.some((l) => l.values.some((v) => (v ?? 0) > 0));
  return (
    <div class="red">
      <div class="card pad">
        {failure("the rate of requests", requests)}
        {a.times.length > 0 && <LineChart title="Requests" {...a} format={perSecond} isArea {...common} />}
      </div>
      <div class={hasErrors ? "card pad" : "card pad folded"}>
        {failure("failed requests", errors)}
        {errors.error ? null : hasErrors ? <LineChart title="Failed" {...b} format={perSecond} {...common} /> : <p class="f2">{errors.isLoading ? "Failed…" : `No errors in ${countOf(Math.round(a.lines.reduce((n, l) => n + l.values.reduce((m: number, v) => m + (v ?? 0), 0), 0) * step), "request")}.`}</p>}
      </div>
      <div class="card pad">
        {failure("durations", quantiles)}
        {c.times.length > 0 && <LineChart title="Duration" {...c} format={asDuration} {...common} />}
      </div>
    </div>
  );
}

const NOISE = 0.1;

/** How the mean duration of operations moved, by its spread over the parts of both periods, in nanoseconds. */
function useMoved(service: string, range: Range, isOn: boolean): ReadonlyMap<string, Moved> {
  const earlier = useMemo(() => before(range), [range]);
  const step = Math.max(1, Math.ceil((range.untilMs - range.fromMs) / 1e3 / BLOCKS));
  const q = `{ resource.service.name = ${JSON.stringify(service)} } | avg_over_time(duration) by (name)`;
  const asked = useAsk<readonly MetricAnswer[]>(isOn ? `moved ${JSON.stringify([q, range, step])}` : "", async (signal) => {
    const [a, b] = await Promise.all([earlier, range].map((r) => metrics(q, r, step, signal, "0")));
    return { data: [a?.data ?? {}, b?.data ?? {}], partial: "" };
  });
  return useMemo(() => {
    const spreads = ([earlier, range] as const).map((r, i) => {
      const of = (s: MetricSeries) => partsOf((s.samples ?? []).flatMap((p) => (p.value ? [{ ms: Number(p.timestampMs), value: p.value * 1e9 }] : [])), r, step * 1e3);
      return new Map((asked.data?.[i]?.series ?? []).map((s) => [plain(s.labels.find((l) => l.key === "name")?.value), spreadOf(of(s))]));
    });
    const out = new Map<string, Moved>();
    for (const [name, after] of spreads[1] ?? []) {
      const m = movedOf(spreads[0]?.get(name), after);
      if (m) out.set(name, m);
    }
    return out;
  }, [asked.data, earlier, range, step]);
}

/** The change of a mean; grey where chance may explain it, or below a tenth. */
function MeanChange(props: { was: Operation | undefined; is: Operation; moved: Moved | undefined }) {
  const { was, is, moved } = props;
  if (!was || was.spans === 0) return <span class="f3">new</span>;
  const grown = is.meanNs / (was.meanNs || 1) - 1;
  const isNews = moved !== undefined && (grown > NOISE ? moved.low > 0 : grown < -NOISE && moved.high < 0);
  const title = `was ${duration(was.meanNs)}; ${moved ? `chance moves it by up to ${duration((moved.high - moved.low) / 2)}${isNews ? "" : ": may be chance"}` : "too few parts of the time have spans to say whether this is chance"}`;
  return (
    <span class={isNews ? (grown > 0 ? "up" : "down") : "f3"} title={title}>
      {changeWords(was.meanNs, is.meanNs)}
    </span>
  );
}

function columns(service: string, past: ReadonlyMap<string, Operation>, most: number, moved: ReadonlyMap<string, Moved>): Column<Operation>[] {
  const q = (o: Operation) => `{ resource.service.name = ${JSON.stringify(service)} && name = ${JSON.stringify(o.operation)} }`;
  return [
    { key: "name", title: "Operation", by: (o) => o.operation, cell: (o) => <ViewLink to={{ view: "service", service, operation: o.operation }} class="service"><Name text={o.operation} /></ViewLink> },
    { key: "rate", title: "Spans", isNumber: true, by: (o) => o.ratePerSecond, cell: (o) => <Fig text={rate(o.ratePerSecond)} /> },
    { key: "errors", title: "Failed", isNumber: true, by: (o) => o.errorShare, cell: (o) => <span class={o.errors > 0 ? "bad" : "f3"} title={`${count(o.errors)} of ${count(o.spans)}`}><Fig text={percent(o.errorShare)} /></span> },
    { key: "p50", title: "p50", isNumber: true, by: (o) => o.p50Ns, cell: (o) => <Fig text={`${ESTIMATE}${duration(o.p50Ns)}`} /> },
    { key: "p95", title: "p95", isNumber: true, by: (o) => o.p95Ns, cell: (o) => <Fig text={`${ESTIMATE}${duration(o.p95Ns)}`} /> },
    { key: "p99", title: "p99", isNumber: true, by: (o) => o.p99Ns, cell: (o) => <Fig text={`${ESTIMATE}${duration(o.p99Ns)}`} /> },
    {
      key: "change",
      title: "Change of mean",
      hint: "compared with the preceding period of the same length; grey within 10 %, and where it may be chance",
      isNumber: true,
      by: (o) => o.meanNs / (past.get(o.operation)?.meanNs ?? o.meanNs),
      cell: (o) => <MeanChange was={past.get(o.operation)} is={o} moved={moved.get(o.operation)} />,
    },
    { key: "bar", title: "Time per span", by: (o) => o.meanNs, cell: (o) => <span class="row one"><span class="len wide"><i style={{ width: `${String((o.meanNs / most) * 100)}%` }} /></span><span class="nw"><Fig text={duration(o.meanNs)} /></span></span> },
    {
      key: "do",
      title: "",
      cell: (o) => (
        <span class="row one">
          <ViewLink to={{ view: "compare", q: q(o), split: "p95" }} class="btn s" label={`Why slow? ${visible(o.operation)}`}>
            Why slow?
          </ViewLink>
          <ViewLink to={{ view: "search", q: q(o) }} class="link sm">
            Traces
          </ViewLink>
        </span>
      ),
    },
  ];
}

/** The newest deploy of the range, and what it changed. */
function LastDeploy(props: { deploy: Deploy; range: Range; onOpen: () => void }) {
  const { deploy: d } = props;
  const one = useMemo(() => [d], [d]);
  const c = useDeployChanges(one, props.range, 1).get(keyOf(d));
  return (
    <div class="card why-card">
      <div class="why">
        <p class="says" data-answer>
          <Name text={d.version} class="mono b" /> {d.against === "" ? "began" : <>after <Name text={d.against} class="mono" /></>}: <DeployVerdict deploy={d} change={c} />
        </p>
        {isExplained(d) && (
          <dl class="dfigs" aria-label="Change per request, with 95 % intervals">
            <div><dt>Duration</dt><dd><DurationChange deploy={d} change={c} /></dd></div>
            <div><dt>CPU</dt><dd><CpuChange deploy={d} change={c} /></dd></div>
            <div><dt>Errors</dt><dd><ErrorsChange deploy={d} change={c} /></dd></div>
          </dl>
        )}
      </div>
      {hasSides(d) && (
        <button type="button" class="btn main" onClick={props.onOpen}>
          Before and after
        </button>
      )}
    </div>
  );
}

export function ServiceView(props: { range: Range }) {
  const url = useUrl();
  const service = url["service"] ?? "";
  const operation = url["operation"] ?? "";
  const of = `resource.service.name = ${JSON.stringify(service)}`;
  const inner = operation === "" ? `${of} && ${ENTRY}` : `${of} && name = ${JSON.stringify(operation)}`;
  const whole = operation === "" ? of : inner;
  const q = { service, ...asked(props.range) };
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const p = { service, ...asked(before(props.range)) };
  const past = useAsk<Services>(JSON.stringify(p), (s) => get("/api/v1/services", p, s));
  const was = useMemo(() => new Map((past.data?.services[0]?.operations ?? []).map((o) => [o.operation, o])), [past.data]);
  const operations = services.data?.services[0]?.operations ?? [];
  const most = Math.max(1, ...operations.map((o) => o.meanNs));
  const moved = useMoved(service, props.range, operation === "" && was.size > 0);
  const shown = useMemo(() => columns(service, was, most, moved), [service, was, most, moved]);
  const { asked: versions, deploys } = useDeploys(props.range, service);
  const marks = useMemo(() => deploys.map((d) => ({ ms: d.ms, words: d.version })), [deploys]);
  const open = (words: string) => {
    const d = deploys.find((x) => x.version === words);
    if (d && hasSides(d)) goTo(within(params(), deployLink(d, operation === "" ? "" : `name = ${JSON.stringify(operation)}`)));
  };
  useHead(operation === "" ? visible(service) : `${visible(operation)} of ${visible(service)}`, operation === "" ? service : `${service} / ${operation}`, service);
  const hasRequests = services.data === undefined || services.data.services.some((s) => s.requests.count > 0) || operation !== "";
  const last = deploys[0];
  return (
    <section aria-labelledby="page-title">
      <div class="row">
        {operation !== "" && (
          <ViewLink to={{ view: "service", service }} class="btn">
            All operations
          </ViewLink>
        )}
        <ViewLink to={{ view: "search", q: `{ ${whole} }` }} class="btn">
          Traces
        </ViewLink>
        <ViewLink to={{ view: "compare", q: `{ ${inner} }`, split: "p95" }} class="btn main">
          Why slow?
        </ViewLink>
        <ViewLink to={{ view: "profiles", service }} class="btn">
          Profiles
        </ViewLink>
        <ViewLink to={{ view: "findings", service }} class="btn">
          Findings
        </ViewLink>
      </div>
      {versions.error && <p class="note bad">Could not ask for versions: {visible(versions.error.message)}</p>}
      {last && <LastDeploy deploy={last} range={props.range} onOpen={() => open(last.version)} />}
      <Latency inner={hasRequests ? inner : whole} range={props.range} title={operation === "" ? (hasRequests ? "requests" : "all spans") : visible(operation)} marks={marks} onMark={(m) => open(m.words)} />
      <Charts inner={hasRequests ? inner : whole} range={props.range} marks={marks} onMark={(m) => open(m.words)} />
      {operation === "" && (
        <AskedFrame what="the operations" asked={services} empty={(d) => (d.services.length === 0 ? <p>No spans of this service in the time range.</p> : undefined)}>
          {(d) => (
            <div class="card">
              <div class="toolbar">
                <h2>Operations</h2>
                <span class="f3">{count(d.services[0]?.operations.length ?? 0)}</span>
              </div>
              <div class="table-scroll">
                <SortTable label="Operations" columns={shown} rows={operations} rowKey={(o) => o.operation} first="rate" stateKey="sort" max={100} />
              </div>
            </div>
          )}
        </AskedFrame>
      )}
    </section>
  );
}
