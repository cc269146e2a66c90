import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { MetricAnswer, Operation, Services } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { LineChart } from "../charts/line_chart";
import { asDuration, linesOf, perSecond, useMetrics, versionMarks } from "./series";
import { serviceColor } from "../format/color";
import { count, duration, percent, rate } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { asked, type Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { Latency, stepOf } from "./latency";


function Charts(props: { inner: string; range: Range }) {
  const { inner, range } = props;
  const step = stepOf(range);
  const qs = { rate: `{ ${inner} } | rate()`, errors: `{ ${inner} && status = error } | rate()`, p: `{ ${inner} } | quantile_over_time(duration, .5, .95, .99)` };
  const requests = useMetrics(qs.rate, range, step);
  const errors = useMetrics(qs.errors, range, step);
  const quantiles = useMetrics(qs.p, range, step);
  const versions = useMetrics(`{ ${inner} } | count_over_time() by (resource.service.version, resource.commit)`, range, Math.max(1, Math.floor(step / 8)));
  const marks = useMemo(() => versionMarks(versions.data), [versions.data]);
  const a = useMemo(() => linesOf(requests.data, () => "requests"), [requests.data]);
  const b = useMemo(() => linesOf(errors.data, () => "errors"), [errors.data]);
  const c = useMemo(() => linesOf(quantiles.data, (_, l) => `p${String(Math.round(Number(l) * 100))}`, undefined, true), [quantiles.data]);
  const onRange = (from: number, until: number) => change({ from: String(Math.round(from)), until: String(Math.round(until)) });
  const failure = (what: string, of: Asked<MetricAnswer>) => of.error && <Failure sentence={`${what}: ${of.error.message}`} status={of.error.status} retryAfterS={of.error.retryAfterS} again={of.again} />;
  return (
    <>
    {failure("Could not ask for versions", versions)}
    <div class="cards">
      <div class="card">{failure("Could not count spans", requests)}{a.times.length > 0 && <LineChart title="Spans per second" {...a} format={perSecond} onRange={onRange} {...range} marks={marks} />}</div>
      <div class="card">{failure("Could not count errors", errors)}{errors.error ? null : b.times.length > 0 ? <LineChart title="Errors per second" {...b} format={perSecond} onRange={onRange} {...range} marks={marks} /> : <p class="note">{errors.isLoading ? "Errors per second…" : "No errors."}</p>}</div>
      <div class="card">{failure("Could not ask for durations", quantiles)}{c.times.length > 0 && <LineChart title="Duration" {...c} format={asDuration} onRange={onRange} {...range} marks={marks} />}</div>
    </div>
    </>
  );
}

function columns(service: string): Column<Operation>[] {
  return [
    { key: "name", title: "Operation", by: (o) => o.operation, cell: (o) => <ViewLink to={{ view: "service", service, operation: o.operation }}><Name text={o.operation} /></ViewLink> },
    { key: "rate", title: "Spans", isNumber: true, by: (o) => o.ratePerSecond, cell: (o) => rate(o.ratePerSecond) },
    { key: "errors", title: "Errors", isNumber: true, by: (o) => o.errorShare, cell: (o) => <span class={o.errors > 0 ? "bad" : undefined} title={`${count(o.errors)} of ${count(o.spans)}`}>{percent(o.errorShare)}</span> },
    { key: "p50", title: "p50", isNumber: true, by: (o) => o.p50Ns, cell: (o) => duration(o.p50Ns) },
    { key: "p95", title: "p95", isNumber: true, by: (o) => o.p95Ns, cell: (o) => duration(o.p95Ns) },
    { key: "p99", title: "p99", isNumber: true, by: (o) => o.p99Ns, cell: (o) => duration(o.p99Ns) },
    {
      key: "do",
      title: "",
      cell: (o) => {
        const q = `{ resource.service.name = ${JSON.stringify(service)} && name = ${JSON.stringify(o.operation)} }`;
        return (
          <>
            <ViewLink to={{ view: "search", q }} class="small">traces</ViewLink> <ViewLink to={{ view: "compare", q }} class="small">slow against fast</ViewLink>
          </>
        );
      },
    },
  ];
}

export function ServiceView(props: { range: Range }) {
  const url = useUrl();
  const service = url["service"] ?? "";
  const operation = url["operation"] ?? "";
  const inner = [`resource.service.name = ${JSON.stringify(service)}`, ...(operation === "" ? [] : [`name = ${JSON.stringify(operation)}`])].join(" && ");
  const q = { service, ...asked(props.range) };
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  return (
    <section aria-labelledby="service-title">
      <h1 id="service-title" class="row">
        <span class="dot" style={{ background: serviceColor(service) }} />
        <Name text={service} />
        {operation !== "" && (
          <>
            <span class="faint">›</span> <Name text={operation} />
            <ViewLink to={{ view: "service", service }} class="small">all operations</ViewLink>
          </>
        )}
        <span class="spring" />
        <ViewLink to={{ view: "search", q: `{ ${inner} }` }} class="button">Traces</ViewLink>
        <ViewLink to={{ view: "compare", q: `{ ${inner} }` }} class="button">Slow against fast</ViewLink>
        <ViewLink to={{ view: "profiles", service }} class="button">Profiles</ViewLink>
        <ViewLink to={{ view: "findings", service }} class="button">Findings</ViewLink>
      </h1>
      <Latency inner={inner} range={props.range} />
      <Charts inner={inner} range={props.range} />
      {operation === "" && (
        <AskedFrame asked={services} empty={(d) => (d.services.length === 0 ? <p>No spans of this service in the time range.</p> : undefined)}>
          {(d) => (
            <div class="panel">
              <SortTable label="Operations" columns={columns(service)} rows={d.services[0]?.operations ?? []} rowKey={(o) => o.operation} first="rate" stateKey="sort" />
            </div>
          )}
        </AskedFrame>
      )}
    </section>
  );
}
