import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Found, FoundSpan, FoundTrace, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { duration, moment, nanoToMs } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { queryOf, type Form } from "../search/complete";
import { QueryEditor } from "../search/editor";
import { asked, askedSeconds, type Range } from "../state/range";
import { change, goTo, within } from "../state/url";
import { useUrl } from "../state/use_url";
import { plain } from "../trace/rows";
import { Latency } from "./latency";

interface Row {
  trace: FoundTrace;
  span: FoundSpan | undefined;
  matched: number;
}

function rowsOf(found: Found): Row[] {
  return (found.traces ?? []).map((trace) => {
    const sets = trace.spanSets ?? (trace.spanSet ? [trace.spanSet] : []);
    return { trace, span: sets[0]?.spans[0], matched: sets.reduce((n, s) => n + s.matched, 0) };
  });
}

const attribute = (r: Row, key: string) => plain(r.span?.attributes?.find((a) => a.key === key)?.value);

const COLUMNS: readonly Column<Row>[] = [
  { key: "start", title: "Started", by: (r) => Number(r.trace.startTimeUnixNano), cell: (r) => moment(nanoToMs(r.trace.startTimeUnixNano)).slice(5, 23) },
  {
    key: "root",
    title: "Request",
    by: (r) => r.trace.rootTraceName ?? "",
    cell: (r) => (
      <ViewLink to={{ view: "trace", id: r.trace.traceID, span: r.span?.spanID, pane: "profile" }} class="service">
        <span class="dot" style={{ background: serviceColor(r.trace.rootServiceName ?? "") }} />
        <Name text={r.trace.rootTraceName ?? "(root not received)"} />
      </ViewLink>
    ),
  },
  { key: "service", title: "Service", by: (r) => r.trace.rootServiceName ?? "", cell: (r) => <Name text={r.trace.rootServiceName ?? ""} /> },
  { key: "duration", title: "Trace", isNumber: true, by: (r) => r.trace.durationMs ?? 0, cell: (r) => duration((r.trace.durationMs ?? 0) * 1e6) },
  { key: "span", title: "Matching span", isNumber: true, by: (r) => Number(r.span?.durationNanos ?? 0), cell: (r) => (r.span ? duration(Number(r.span.durationNanos)) : "") },
  { key: "matched", title: "Matches", isNumber: true, by: (r) => r.matched, cell: (r) => String(r.matched) },
  { key: "id", title: "Trace id", cell: (r) => <span class="mono faint">{r.trace.traceID.slice(0, 12)}…</span> },
];

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

export function Search(props: { range: Range }) {
  const url = useUrl();
  const q = url["q"] ?? "{ }";
  const form = url["form"] === "1";
  const extra = useMemo(() => (url["cols"] ?? "").split(",").filter((c) => c !== ""), [url["cols"]]);
  const limit = url["limit"] ?? "50";
  // Columns of attributes are asked for with the query itself.
  const sent = extra.length === 0 || q.includes("|") ? q : `${q} | select(${extra.join(", ")})`;
  const query = { q: sent, limit, spss: "1", ...askedSeconds(props.range) };
  const found = useAsk<Found>(JSON.stringify(query), (s) => get("/api/search", query, s));
  const rows = useMemo(() => rowsOf(found.data ?? {}), [found.data]);
  const columns = useMemo(
    (): Column<Row>[] => [
      ...COLUMNS,
      ...extra.map((c) => {
        const key = c.replace(/^(span|resource|event|link|instrumentation)?\./, "");
        return { key: c, title: c, by: (r: Row) => attribute(r, key), cell: (r: Row) => <Name text={attribute(r, key)} /> };
      }),
    ],
    [extra],
  );
  const inner = /^\s*\{(.*)\}\s*$/s.exec(q)?.[1]?.trim();
  const run = (text: string) => change({ q: text.trim() });
  const malformed = found.error?.status === 400 ? found.error.message : "";
  return (
    <section aria-labelledby="search-title">
      <h1 id="search-title" class="row">
        Search <span class="spring" />
        <button type="button" aria-pressed={form} onClick={() => change({ form: form ? "" : "1" })}>Form</button>
        {inner !== undefined && <ViewLink to={{ view: "compare", q }} class="button">Slow against fast</ViewLink>}
      </h1>
      <QueryEditor value={q} fault={malformed} onRun={run} />
      {form && <FormFields range={props.range} onRun={run} />}
      {malformed === "" && inner !== undefined && !inner.includes("}") && <Latency inner={inner} range={props.range} height={150} />}
      <div class="row">
        <label>
          Columns{" "}
          <input
            placeholder="span.http.route, resource.host.name"
            size={34}
            defaultValue={extra.join(", ")}
            key={url["cols"]}
            onChange={(e) => change({ cols: e.currentTarget.value.split(/[\s,]+/).filter((c) => /^[\w.:"/-]+$/.test(c)).join(",") })}
          />
        </label>
        <label>
          At most{" "}
          <select value={limit} onChange={(e) => change({ limit: e.currentTarget.value === "50" ? "" : e.currentTarget.value })}>
            {["20", "50", "200", "1000"].map((n) => <option key={n}>{n}</option>)}
          </select>
        </label>
        <span class="faint">{found.data ? `${String(rows.length)} traces, newest first` : ""}</span>
      </div>
      <AskedFrame asked={found} empty={() => (rows.length === 0 ? <p>No trace in the time range matches. A wider range, or fewer conditions?</p> : undefined)}>
        {() => (
          <div class="panel">
            <SortTable label="Traces" columns={columns} rows={rows} rowKey={(r) => r.trace.traceID} onRow={(r) => goTo(within(url, { view: "trace", id: r.trace.traceID, span: r.span?.spanID, pane: "profile" }))} max={1000} stateKey="sort" />
          </div>
        )}
      </AskedFrame>
    </section>
  );
}
