import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Found, FoundSpan, FoundTrace, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { duration, moment, nanoToMs } from "../format/units";
import { Fig } from "../parts/figure";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Segment } from "../parts/segment";
import { ServiceMark } from "../parts/service_mark";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { queryOf, type Form } from "../search/complete";
import { QueryEditor } from "../search/editor";
import { Facets } from "../search/facets";
import { MetricChart } from "../search/metric_chart";
import { innerOf, isMetrics, rememberQuery, traceNs, withCondition } from "../search/queries";
import { Examples, QueryLists } from "../search/query_lists";
import { meantBy } from "../shell/find_box";
import { useHead } from "../state/head";
import { asked, askedSeconds, type Range } from "../state/range";
import { change, goTo, within } from "../state/url";
import { useUrl } from "../state/use_url";
import { plain } from "../trace/rows";
import { CauseWords, oneOfEach, useCauses, type Causes } from "../why/causes";
import { Latency } from "./latency";

interface Row {
  trace: FoundTrace;
  span: FoundSpan | undefined;
  matched: number;
  ns: number; // the trace's duration
}

function rowsOf(found: Found): Row[] {
  return (found.traces ?? []).map((trace) => {
    const sets = trace.spanSets ?? (trace.spanSet ? [trace.spanSet] : []);
    const span = sets[0]?.spans[0];
    return { trace, span, matched: sets.reduce((n, s) => n + s.matched, 0), ns: traceNs(trace.durationMs, span?.durationNanos) };
  });
}

const attribute = (r: Row, key: string) => plain(r.span?.attributes?.find((a) => a.key === key)?.value);

/** The root is named even where it never came. */
const rootName = (r: Row) => r.trace.rootTraceName ?? "(root not received)";
const to = (r: Row) => ({ view: "trace", id: r.trace.traceID, span: r.span?.spanID, pane: "why" });

interface Told {
  readonly of: Causes;
  readonly isAsked: (r: Row) => boolean;
}

function columnsOf(mostNs: number, causes: Told): readonly Column<Row>[] {
  return [
    { key: "start", title: "Started", by: (r) => Number(r.trace.startTimeUnixNano), cell: (r) => <span class="f3 num">{moment(nanoToMs(r.trace.startTimeUnixNano)).slice(5, 23)}</span> },
    {
      key: "root",
      title: "Request",
      by: rootName,
      cell: (r) => (
        <ViewLink to={to(r)} class="service">
          <ServiceMark name={r.trace.rootServiceName ?? ""} />
          <Name text={rootName(r)} />
          <Name text={r.trace.rootServiceName ?? ""} class="faint sm" />
        </ViewLink>
      ),
    },
    { key: "duration", title: "Trace", isNumber: true, by: (r) => r.ns, cell: (r) => <Fig text={duration(r.ns)} /> },
    { key: "bar", title: "", cell: (r) => <span class="len"><i style={{ width: `${String((r.ns / mostNs) * 100)}%` }} /></span> },
    { key: "span", title: "Matching span", isNumber: true, by: (r) => Number(r.span?.durationNanos ?? 0), cell: (r) => (r.span ? <Fig text={duration(Number(r.span.durationNanos))} /> : "") },
    { key: "matched", title: "Matches", isNumber: true, by: (r) => r.matched, cell: (r) => String(r.matched) },
    { key: "cause", title: "Where its time went", hint: `for the first ${String(EXPLAINED)}`, isWide: true, cell: (r) => (causes.isAsked(r) ? <CauseWords cause={causes.of.get(r.trace.traceID)} /> : "") },
    {
      key: "why",
      title: "",
      cell: (r) => (
        <ViewLink to={{ view: "trace", id: r.trace.traceID, pane: "why" }} class="btn s" label={`Why slow? ${visible(rootName(r))}, ${duration(r.ns)}`}>
          Why slow?
        </ViewLink>
      ),
    },
  ];
}

function FormFields(props: { range: Range; onRun: (q: string) => void }) {
  const [form, setForm] = useState<Form>({ service: "", name: "", status: "", minDuration: "", maxDuration: "", tags: "" });
  const q = asked(props.range);
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const set = (some: Partial<Form>) => setForm({ ...form, ...some });
  const operations = services.data?.services.find((s) => s.service === form.service)?.operations ?? [];
  return (
    <form
      class="row form-fields"
      onSubmit={(e) => {
        e.preventDefault();
        props.onRun(queryOf(form));
      }}
    >
      <label>
        Service{" "}
        <select value={form.service} onChange={(e) => set({ service: e.currentTarget.value, name: "" })}>
          <option value="">any</option>
          {services.data?.services.map((s) => <option key={s.service} value={s.service}>{visible(s.service)}</option>)}
        </select>
      </label>
      <label>
        Operation{" "}
        <select value={form.name} onChange={(e) => set({ name: e.currentTarget.value })}>
          <option value="">any</option>
          {operations.map((o) => <option key={o.operation} value={o.operation}>{visible(o.operation)}</option>)}
        </select>
      </label>
      <label>
        Status{" "}
        <select value={form.status} onChange={(e) => set({ status: e.currentTarget.value })}>
          <option value="">any</option>
          <option>error</option>
          <option>ok</option>
          <option>unset</option>
        </select>
      </label>
      <label>At least <input size={6} placeholder="100ms" value={form.minDuration} onInput={(e) => set({ minDuration: e.currentTarget.value })} /></label>
      <label>At most <input size={6} placeholder="2s" value={form.maxDuration} onInput={(e) => set({ maxDuration: e.currentTarget.value })} /></label>
      <label class="grow row">Tags <input class="grow" placeholder="http.route=/cart user.tier=gold" value={form.tags} onInput={(e) => set({ tags: e.currentTarget.value })} /></label>
      <button type="submit">Write and run</button>
      <code class="faint">{visible(queryOf(form))}</code>
    </form>
  );
}

const COMPARES = "Slow against fast";
const EXPLAINED = 20;
const SLOWEST = "duration-down";
const ORDERS: readonly (readonly [string, string])[] = [["", "Newest"], [SLOWEST, "Slowest"], ["cause", "One of each cause"]];

export function Search(props: { range: Range }) {
  const url = useUrl();
  const q = url["q"] ?? "{ }";
  const form = url["form"] === "1";
  useHead(q === "{ }" ? "Traces" : `Traces: ${visible(q).slice(0, 60)}`);
  const extra = useMemo(() => (url["cols"] ?? "").split(",").filter((c) => c !== ""), [url["cols"]]);
  const limit = url["limit"] ?? "50";
  const isChart = isMetrics(q);
  // Columns of attributes are requested with the query itself.
  const sent = extra.length === 0 || q.includes("|") ? q : `${q} | select(${extra.join(", ")})`;
  const query = { q: sent, limit, spss: "1", ...askedSeconds(props.range) };
  // What does not match the query any more goes away at once.
  const found = useAsk<Found>(isChart ? "" : JSON.stringify(query), (s) => get("/api/search", query, s), true);
  const rows = useMemo(() => rowsOf(found.data ?? {}), [found.data]);
  const most = Math.max(1, ...rows.map((r) => r.ns));
  const order = url["sort"] ?? "";
  // Why costs the server more than what: the first rows of the list are asked.
  const first = useMemo(() => (order === "" ? rows : [...rows].sort((a, b) => b.ns - a.ns)).slice(0, EXPLAINED), [rows, order]);
  const causes = useCauses(first.map((r) => r.trace.traceID));
  const shown = useMemo(() => (order === "cause" ? oneOfEach(first, (r) => r.trace.traceID, causes) : rows), [order, first, rows, causes]);
  const columns = useMemo(
    (): Column<Row>[] => [
      ...columnsOf(most, { of: causes, isAsked: (r) => first.includes(r) }),
      ...extra.map((c) => {
        const key = c.replace(/^(span|resource|event|link|instrumentation)?\./, "");
        return { key: c, title: c, by: (r: Row) => attribute(r, key), cell: (r: Row) => <Name text={attribute(r, key)} /> };
      }),
    ],
    [extra, most, causes, first],
  );
  const inner = innerOf(q);
  const run = (text: string) => {
    const meant = meantBy(text);
    if (meant?.to["view"] === "trace") goTo(within(url, meant.to));
    else {
      rememberQuery(text.trim());
      change({ q: text.trim(), sort: "", box: "" });
    }
  };
  const malformed = found.error?.status === 400 ? found.error.message : "";
  return (
    <section aria-labelledby="page-title">
      <div class="card pad search-card">
        <QueryEditor value={q} fault={malformed} onRun={run} />
        <div class="row">
          <QueryLists q={q} onRun={run} />
          <button type="button" class="btn" aria-pressed={form} onClick={() => change({ form: form ? "" : "1" })}>
            Form
          </button>
          {q.trim() === "{ }" && <Examples onRun={run} />}
          <span class="spring" />
          <ViewLink to={{ view: "pins" }} class="btn">
            Pins
          </ViewLink>
          {inner !== undefined && (
            <ViewLink to={{ view: "compare", q }} class="btn">
              {COMPARES}
            </ViewLink>
          )}
        </div>
        {form && <FormFields range={props.range} onRun={run} />}
        {malformed === "" && inner !== undefined && <Facets inner={inner} range={props.range} onAdd={(c) => run(withCondition(q, c))} />}
      </div>
      {isChart ? (
        <MetricChart q={q} range={props.range} />
      ) : (
        <>
          {malformed === "" && inner !== undefined && <Latency inner={inner} range={props.range} height={150} title={q.trim() === "{ }" ? "all spans" : visible(q)} />}
          <div class="card">
            <div class="toolbar">
              <h2>Traces</h2>
              <span class="f3" role="status">
                {found.data ? `${order !== "cause" && rows.length > EXPLAINED ? `time breakdowns of the first ${String(EXPLAINED)}; ` : ""}${rows.length >= Number(limit) ? `the newest ${String(rows.length)}, older ones may match too` : String(rows.length)}${order === "cause" ? (first.every((r) => causes.has(r.trace.traceID)) ? `; ${String(shown.length)} causes of the ${String(first.length)} slowest` : `; asking where the time of the ${String(first.length)} slowest went`) : ""}` : ""}
              </span>
              <Segment label="Order" value={order === "" ? "" : order === "cause" ? "cause" : order === SLOWEST ? SLOWEST : "other"} of={ORDERS} onChange={(o) => change({ sort: o })} />
              <span class="spring" />
              <label class="row one nw">
                Columns{" "}
                <input
                  placeholder="span.http.route, resource.host.name"
                  size={22}
                  defaultValue={extra.join(", ")}
                  key={url["cols"]}
                  onChange={(e) => change({ cols: e.currentTarget.value.split(/[\s,]+/).filter((c) => /^[\w.:"/-]+$/.test(c)).join(",") })}
                />
              </label>
              <label class="row one nw">
                At most{" "}
                <select value={limit} onChange={(e) => change({ limit: e.currentTarget.value === "50" ? "" : e.currentTarget.value })}>
                  {["20", "50", "200", "1000"].map((n) => <option key={n}>{n}</option>)}
                </select>
              </label>
            </div>
            <AskedFrame what="the traces" asked={found} empty={() => (rows.length === 0 ? <p>No trace in the time range matches. Use a wider time range or a less specific query.</p> : undefined)}>
              {() => (
                <div class="table-scroll">
                  <SortTable label="Traces" columns={columns} rows={shown} rowKey={(r) => r.trace.traceID} onRow={(r) => goTo(within(url, to(r)))} max={200} stateKey="sort" />
                </div>
              )}
            </AskedFrame>
          </div>
        </>
      )}
    </section>
  );
}
