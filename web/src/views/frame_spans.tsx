// From code to requests: the spans that ran a function.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { FrameSpans } from "../api/types";
import { useAsk } from "../api/use_ask";
import { said, visible } from "../format/safe_text";
import { count, duration, moment, nanoToMs, percent, samples, value } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { useHead } from "../state/head";
import { asked, type Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";

type Row = FrameSpans["spans"][number];
const CUT = "Truncated: the samples represent more time than the span lasted";

function columns(unit: string): Column<Row>[] {
  return [
    {
      key: "name",
      title: "Span",
      by: (s) => s.name,
      cell: (s) => (
        <span class="service">
          <ServiceMark name={s.service} />
          {s.traceId === "" ? (
            <span class="faint mono" title="Its trace is not stored (expired, or not received yet)">{s.spanId}</span>
          ) : (
            <ViewLink to={{ view: "trace", id: s.traceId, span: s.spanId, pane: "why" }}>
              <Name text={s.name} />
            </ViewLink>
          )}
        </span>
      ),
    },
    { key: "service", title: "Service", by: (s) => s.service, cell: (s) => <Name text={s.service} /> },
    { key: "start", title: "Started", by: (s) => Number(s.startTimeUnixNano), cell: (s) => (s.traceId === "" ? "" : moment(nanoToMs(s.startTimeUnixNano)).slice(5, 23)) },
    { key: "duration", title: "Span", isNumber: true, by: (s) => s.durationNs, cell: (s) => (s.traceId === "" ? "" : duration(s.durationNs)) },
    { key: "value", title: "In the function", isNumber: true, by: (s) => s.value, cell: (s) => (s.fewSamples === undefined ? <span title={s.isCut ? CUT : undefined}>{value(s.value, unit) + (s.isCut ? "*" : "")}</span> : samples(s.fewSamples)) },
    { key: "share", title: "Of its samples", isNumber: true, by: (s) => s.share, cell: (s) => percent(s.share) },
    { key: "samples", title: "Samples", isNumber: true, by: (s) => s.samples, cell: (s) => count(s.samples) },
  ];
}

export function FrameSpansView(props: { range: Range }) {
  const url = useUrl();
  const name = url["function"] ?? "";
  const limit = url["limit"] ?? "50";
  const query = { function: name, service: url["service"], type: url["type"], limit, ...asked(props.range) };
  const found = useAsk<FrameSpans>(name === "" ? "" : JSON.stringify(query), (s) => get("/api/v1/frames/spans", query, s));
  useHead(`Spans that ran ${visible(name)}`, `Spans that ran ${name}`);
  const shown = useMemo(() => columns(found.data?.unit ?? ""), [found.data]);
  return (
    <section aria-labelledby="page-title">
      {name === "" ? (
        <p class="state">No function selected. Open the menu of a function in a flame graph.</p>
      ) : (
        <AskedFrame what="the spans" asked={found} empty={(d) => (d.spans.length === 0 ? <p>{said(d.reason) || "No samples of spans contain this function in the time range."}</p> : undefined)}>
          {(d) => (
            <>
              <p class="row">
                <span>
                  <b>{count(d.found)}</b> spans, <b>{d.fewSamples === undefined ? `${value(d.value, d.unit)} sampled` : samples(d.fewSamples)}</b> in all; the most expensive first.
                </span>
                <label>
                  At most{" "}
                  <select value={limit} onChange={(e) => change({ limit: e.currentTarget.value === "50" ? "" : e.currentTarget.value })}>
                    {["20", "50", "200", "1000"].map((n) => <option key={n}>{n}</option>)}
                  </select>
                </label>
              </p>
              {d.note !== "" && <p class="note">{said(d.note)}</p>}
              <div class="panel">
                <SortTable label="Spans" columns={shown} rows={d.spans} rowKey={(s) => `${s.traceId}${s.spanId}`} first="value" stateKey="sort" max={1000} />
              </div>
            </>
          )}
        </AskedFrame>
      )}
    </section>
  );
}
