import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Findings, MetricAnswer, Service, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { LineChart } from "../charts/line_chart";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { bytes, count, duration, percent, rate, short } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { asked, type Range } from "../state/range";
import { change } from "../state/url";
import { plain } from "../trace/rows";
import { FirstUse } from "./first_use";
import { stepOf } from "./latency";
import { asDuration, linesOf, perSecond, useMetrics } from "./series";
import { useCosts, type Costs } from "./use_costs";

/** The first finding of a service, asked row by row: a slow one holds up nobody else. */
function TopFinding(props: { service: string; range: Range }) {
  const q = { service: props.service, ...asked(props.range) };
  const found = useAsk<Findings>(JSON.stringify(q), (s) => get("/api/v1/findings", q, s));
  const first = found.data?.findings[0];
  if (first)
    return (
      <ViewLink to={{ view: "findings", service: props.service }} title={visible(first.sentence)} class="finding-link">
        {visible(first.sentence)}
      </ViewLink>
    );
  if (found.isLoading) return <span class="faint">…</span>;
  if (found.error) return <Failed error={found.error} />;
  return (
    <span class="faint" title={visible(found.data?.reason ?? "")}>
      {found.data?.samples === 0 ? "no profiles" : "nothing stands out"}
    </span>
  );
}

function Failed(props: { error: { readonly message: string } }) {
  return (
    <span class="bad" title={visible(props.error.message)}>
      failed: {visible(props.error.message)}
    </span>
  );
}

function cost(costs: Costs, n: number | undefined, words: (n: number) => string) {
  if (costs.error) return <span class="bad" title={visible(costs.error.message)}>failed</span>;
  if (!costs.of) return <span class="faint">…</span>;
  return n === undefined ? <span class="faint" title="no such profiles">–</span> : words(n);
}

function columns(range: Range, costs: Costs): Column<Service>[] {
  return [
    {
      key: "service",
      title: "Service",
      by: (s) => s.service,
      cell: (s) => (
        <ViewLink to={{ view: "service", service: s.service }} class="service">
          <span class="dot" style={{ background: serviceColor(s.service) }} />
          <Name text={s.service} />
        </ViewLink>
      ),
    },
    { key: "rate", title: "Requests", isNumber: true, by: (s) => s.requests.ratePerSecond, cell: (s) => rate(s.requests.ratePerSecond), hint: "requests that enter the service, per second" },
    {
      key: "errors",
      title: "Errors",
      isNumber: true,
      by: (s) => s.requests.errorShare,
      cell: (s) => (
        <span class={s.requests.errors > 0 ? "bad" : undefined} title={`${count(s.requests.errors)} of ${count(s.requests.count)} requests`}>
          {percent(s.requests.errorShare)}
        </span>
      ),
    },
    { key: "p50", title: "p50", isNumber: true, by: (s) => s.requests.p50Ns, cell: (s) => duration(s.requests.p50Ns) },
    { key: "p95", title: "p95", isNumber: true, by: (s) => s.requests.p95Ns, cell: (s) => duration(s.requests.p95Ns) },
    { key: "p99", title: "p99", isNumber: true, by: (s) => s.requests.p99Ns, cell: (s) => duration(s.requests.p99Ns) },
    {
      key: "cpu",
      title: "CPU",
      isNumber: true,
      hint: "cores, as profiles say",
      by: (s) => costs.of?.get(s.service)?.cores ?? -1,
      cell: (s) => cost(costs, costs.of?.get(s.service)?.cores, (n) => `${short(n)} cores`),
    },
    {
      key: "memory",
      title: "Memory",
      isNumber: true,
      hint: "heap in use, as profiles say",
      by: (s) => costs.of?.get(s.service)?.memory ?? -1,
      cell: (s) => cost(costs, costs.of?.get(s.service)?.memory, bytes),
    },
    { key: "finding", title: "What stands out", isWide: true, cell: (s) => <TopFinding service={s.service} range={range} /> },
  ];
}

/** The busiest services over time; a drag chooses the time. */
function Charts(props: { range: Range; services: readonly string[] }) {
  const { range } = props;
  const step = stepOf(range);
  const by = "by (resource.service.name)";
  const asks = { rate: useMetrics(`{ } | rate() ${by}`, range, step), p95: useMetrics(`{ } | quantile_over_time(duration, .95) ${by}`, range, step), errors: useMetrics(`{ status = error } | rate() ${by}`, range, step) };
  const drawn = (a: MetricAnswer | undefined, isDuration = false) => {
    const known = new Set(props.services);
    const some = { series: (a?.series ?? []).filter((s) => known.has(plain(s.labels.find((l) => l.key === "resource.service.name")?.value))) };
    const name = (i: number) => plain(some.series[i]?.labels.find((l) => l.key === "resource.service.name")?.value);
    return linesOf(some, (i) => visible(name(i)), (i) => serviceColor(name(i)), isDuration);
  };
  const key = props.services.join("\n");
  const rates = useMemo(() => drawn(asks.rate.data), [asks.rate.data, key]);
  const slow = useMemo(() => drawn(asks.p95.data, true), [asks.p95.data, key]);
  const failed = useMemo(() => drawn(asks.errors.data), [asks.errors.data, key]);
  const onRange = (from: number, until: number) => change({ from: String(Math.round(from)), until: String(Math.round(until)) });
  const error = asks.rate.error ?? asks.p95.error ?? asks.errors.error;
  return (
    <>
      {error && <Failure sentence={error.message} status={error.status} retryAfterS={error.retryAfterS} again={asks.rate.again} />}
      <div class="cards">
        <div class="card"><LineChart title={titled("Spans per second", asks.rate.isLoading)} {...rates} format={perSecond} onRange={onRange} {...range} height={130} /></div>
        <div class="card"><LineChart title={titled("p95 of durations", asks.p95.isLoading)} {...slow} format={asDuration} onRange={onRange} {...range} height={130} /></div>
        <div class="card"><LineChart title={titled("Errors per second", asks.errors.isLoading)} {...failed} format={perSecond} onRange={onRange} {...range} height={130} /></div>
      </div>
    </>
  );
}

function titled(words: string, isLoading: boolean): string {
  return isLoading ? `${words} …` : words;
}

const CHARTED = 8;

function busiest(all: readonly Service[]): string[] {
  return [...all].sort((a, b) => b.spans - a.spans || (a.service < b.service ? -1 : 1)).slice(0, CHARTED).map((s) => s.service);
}

export function Overview(props: { range: Range }) {
  const q = asked(props.range);
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const costs = useCosts(props.range);
  return (
    <section aria-labelledby="overview-title">
      <h1 id="overview-title">Services</h1>
      <AskedFrame asked={services} empty={(d) => (d.services.length === 0 ? <FirstUse /> : undefined)}>
        {(d) => (
          <>
          <Charts range={props.range} services={busiest(d.services)} />
          {d.services.length > CHARTED && (
            <p class="note">
              The charts show the {CHARTED} services with the most spans of {d.services.length}; each service has its own page.
            </p>
          )}
          <div class="panel">
            <SortTable label="Services" columns={columns(props.range, costs)} rows={d.services} rowKey={(s) => s.service} first="rate" stateKey="sort" />
          </div>
          </>
        )}
      </AskedFrame>
    </section>
  );
}
