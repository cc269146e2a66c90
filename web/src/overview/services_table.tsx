import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Explain, Service } from "../api/types";
import { Sparkline } from "../charts/sparkline";
import { serviceColor } from "../format/color";
import { said, visible } from "../format/safe_text";
import { count, countOf, duration, percent, rate, roughChange } from "../format/units";
import { Fig } from "../parts/figure";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Segment } from "../parts/segment";
import { ServiceMark } from "../parts/service_mark";
import { change, goTo, params, within } from "../state/url";
import { useUrl } from "../state/use_url";
import { evidenceOf, shortFact } from "./answer_cards";
import { ranked, type AllFindings } from "./use_findings";
import type { RedData } from "./use_red";
import { MOST_TIMES, useTimes } from "./use_times";
import { ENOUGH, worstFirst } from "./worst";
import { BreakdownBar, PartLegend } from "../why/parts";
import type { Asked } from "../api/use_ask";
import type { Costs } from "../views/use_costs";
import type { Range } from "../state/range";
import { bytes, short } from "../format/units";

const ROW = 41;
/** Below this all rows exist; above, only those on screen. */
const VIRTUAL = 200;
type Order = "worst" | "name" | "rate" | "p95" | "errors";

function sorted(services: readonly Service[], order: Order, red: RedData): Service[] {
  const by = (f: (s: Service) => number) => [...services].sort((a, b) => f(b) - f(a) || (a.service < b.service ? -1 : 1));
  if (order === "name") return [...services].sort((a, b) => (a.service < b.service ? -1 : 1));
  if (order === "rate") return by((s) => s.requests.ratePerSecond);
  if (order === "p95") return by((s) => s.requests.p95Ns);
  if (order === "errors") return by((s) => s.requests.errorShare);
  return worstFirst(services, red.before, red.changed);
}

function Says(props: { service: string; findings: Asked<AllFindings>; first: ReturnType<typeof ranked>[number] | undefined }) {
  const { findings, first } = props;
  if (first)
    return (
      <ViewLink to={evidenceOf(first)} title={visible(first.sentence)} class="says">
        <bdi>{visible(shortFact(first))}</bdi>
      </ViewLink>
    );
  if (findings.error)
    return (
      <span class="bad sm" title={visible(findings.error.message)}>
        failed
      </span>
    );
  if (!findings.data) return <span class="faint">…</span>;
  const own = findings.data.services.find((s) => s.service === props.service);
  if (own?.error !== undefined && own.error !== "") return <span class="bad sm" title={visible(own.error)}>failed: {visible(own.error)}</span>;
  if (!own) return <span class="faint sm">not examined: the query took too long</span>;
  return (
    <span class="faint sm" title={said(own.reason)}>
      {own.samples === 0 ? "no profiles" : own.reason === "" ? "no findings" : said(own.reason)}
    </span>
  );
}

function TimeCell(props: { time: Explain | ApiError | undefined; meanNs: number; hasRequests: boolean }) {
  const { time } = props;
  if (!props.hasRequests) return null;
  const mean = (
    <span class="nw">
      <Fig text={duration(props.meanNs)} />
    </span>
  );
  if (!time || time instanceof ApiError || time.parts.length === 0) return <span class="row one" title={time instanceof ApiError ? visible(time.message) : ""}><span class="bd-room" />{mean}</span>;
  return (
    <span class="row one" title={visible(time.sentence)}>
      <span class="bd-room">
        <BreakdownBar parts={time.parts} whole={time.duration_ns} label="Time per request" />
      </span>
      {mean}
    </span>
  );
}

/** Services as rows: requests that enter them, what changed, what stands out. Five hundred of them scroll like five. */
export function ServicesTable(props: { range: Range; services: readonly Service[]; red: RedData; findings: Asked<AllFindings>; marks: ReadonlyMap<string, readonly number[]>; costs: Costs; isLate: boolean }) {
  const url = useUrl();
  const text = url["filter"] ?? "";
  const order = (["worst", "name", "rate", "p95", "errors"] as const).find((o) => o === url["sort"]) ?? "worst";
  const { costs } = props;
  const fit = useMemo(() => props.services.filter((s) => s.service.toLowerCase().includes(text.toLowerCase())), [props.services, text]);
  const rows = useMemo(() => sorted(fit, order, props.red), [fit, order, props.red.before, props.red.changed]);
  const times = useTimes(rows.filter((s) => s.requests.count > 0).slice(0, props.isLate ? MOST_TIMES : 0).map((s) => s.service), props.range);
  const parts = useMemo(() => new Set([...times.values()].flatMap((e) => (e instanceof ApiError ? [] : e.parts.map((p) => (p.part === "on_cpu" ? "cpu" : p.part))))), [times]);
  const told = useMemo(() => {
    const out = new Map<string, ReturnType<typeof ranked>[number]>();
    for (const f of ranked(props.findings.data)) if (!out.has(f.service)) out.set(f.service, f);
    return out;
  }, [props.findings.data]);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 640 });
  const isVirtual = rows.length > VIRTUAL;
  const begin = isVirtual ? Math.max(0, Math.floor(view.top / ROW) - 6) : 0;
  const end = isVirtual ? Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + 6) : rows.length;
  useEffect(() => {
    if (box.current) box.current.scrollTop = 0;
    setView((v) => ({ ...v, top: 0 }));
  }, [text, order]);
  const head = (key: Order, words: string, isNumber = true) => (
    <th class={isNumber ? "number" : undefined} aria-sort={order === key ? (key === "name" ? "ascending" : "descending") : undefined}>
      <button type="button" class="plain" onClick={() => change({ sort: key === "worst" ? "" : key })}>
        {words}
        {order === key && <span aria-hidden="true"> ↓</span>}
      </button>
    </th>
  );
  const cell = (n: number | undefined, words: (n: number) => string) => (costs.error ? <span class="bad" title={visible(costs.error.message)}>failed</span> : !costs.of ? <span class="faint">…</span> : n === undefined ? <span class="faint" title="no such profiles">–</span> : <Fig text={words(n)} />);
  return (
    <div class="card services">
      <div class="toolbar">
        <h2>Services</h2>
        <span class="f3" role="status">
          {text === "" ? count(rows.length) : `${count(rows.length)} of ${count(props.services.length)}`}
        </span>
        <input type="search" class="filter" placeholder="Filter services" aria-label="Filter services" value={text} onInput={(e) => change({ filter: e.currentTarget.value }, true)} />
        <span class="spring" />
        <span class="f3 sm m-hide" title={`Change of p95 compared with the preceding period of the same length; grey where it may be chance, is within 10 % or has fewer than ${String(ENOUGH)} requests`}>
          {props.red.beforeError === "" ? "against the time before" : <span class="bad">the time before failed: {visible(props.red.beforeError)}</span>}
        </span>
        <Segment label="Order" value={order === "name" ? "name" : "worst"} of={[["worst", "Worst first"], ["name", "A–Z"]]} onChange={(o) => change({ sort: o === "worst" ? "" : o })} />
      </div>
      <div class="table-scroll" ref={box} {...(isVirtual ? { tabIndex: 0, role: "region", "aria-label": "Services" } : {})} onScroll={(e) => isVirtual && setView({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })} data-virtual={isVirtual ? "" : undefined}>
        <table aria-label="Services" class="tall" aria-rowcount={rows.length + 1}>
          <thead>
            <tr>
              {head("name", "Service", false)}
              {head("rate", "Requests")}
              {head("errors", "Failed")}
              <th class="c-hide" />
              {head("p95", "p95")}
              <th class="number">Change</th>
              <th class="c-hide" title={`where a request spends its time, on average; of the first ${String(MOST_TIMES)} services`}>Time per request</th>
              <th class="number c-hide2" title="cores in use, from profiles">CPU</th>
              <th class="number c-hide2" title="heap in use, from profiles">Memory</th>
              <th>Findings</th>
            </tr>
          </thead>
          <tbody>
            {begin > 0 && <tr aria-hidden="true" class="space"><td colSpan={10} style={{ height: `${String(begin * ROW)}px` }} /></tr>}
            {rows.slice(begin, end).map((s) => {
              const r = s.requests;
              const was = props.red.before.get(s.service)?.requests;
              const news = props.red.changed.has(s.service);
              const moved = props.red.moved.get(s.service);
              const cost = costs.of?.get(s.service);
              return (
                <tr key={s.service} class="clickable" onClick={(e) => !(e.target instanceof Element && e.target.closest("a,button")) && goTo(within(params(), { view: "service", service: s.service }))}>
                  <td>
                    <ViewLink to={{ view: "service", service: s.service }} class="service">
                      <ServiceMark name={s.service} />
                      <Name text={s.service} />
                    </ViewLink>
                  </td>
                  <td class="number"><Fig text={rate(r.ratePerSecond)} /></td>
                  <td class={r.errors > 0 ? "number bad" : "number f3"} title={`${count(r.errors)} of ${countOf(r.count, "request")}`}>
                    {r.count > 0 && <Fig text={percent(r.errorShare)} />}
                  </td>
                  <td class="sp c-hide">
                    <Sparkline values={props.red.sparks.get(s.service)?.values ?? []} color={serviceColor(s.service)} width={64} height={22} marks={props.marks.get(s.service) ?? []} />
                  </td>
                  <td class="number">{r.count > 0 ? <Fig text={`~${duration(r.p95Ns)}`} /> : <span class="faint" title="No requests enter this service: it has child spans only">–</span>}</td>
                  <td class={`number ${news ? (r.p95Ns > (was?.p95Ns ?? 0) ? "up" : "down") : "f3"}`} title={was && was.count > 0 ? `p95 was ~${duration(was.p95Ns)} in the preceding period, ${countOf(was.count, "request")}; ${Math.min(was.count, r.count) < ENOUGH || !moved ? "too few to say whether this is chance" : `chance moves its mean by up to ~${duration((moved.high - moved.low) / 2)}${news ? "" : ": may be chance"}`}` : "no requests in the time before"}>
                    {r.count === 0 ? "" : was && was.count > 0 ? roughChange(was.p95Ns, r.p95Ns) : <span class="sm">new</span>}
                  </td>
                  <td class="time-cell c-hide">
                    <TimeCell time={times.get(s.service)} meanNs={r.meanNs} hasRequests={r.count > 0} />
                  </td>
                  <td class="number c-hide2">{cell(cost?.cores, (n) => `${short(n)} cores`)}</td>
                  <td class="number c-hide2">{cell(cost?.memory, bytes)}</td>
                  <td class="wide">
                    <Says service={s.service} findings={props.findings} first={told.get(s.service)} />
                  </td>
                </tr>
              );
            })}
            {end < rows.length && <tr aria-hidden="true" class="space"><td colSpan={10} style={{ height: `${String((rows.length - end) * ROW)}px` }} /></tr>}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="state">No service has “{visible(text)}” in its name.</p>}
      {parts.size > 0 && (
        <p class="legend pad-x parts-legend c-hide">
          <PartLegend has={parts} />
          {(parts.has("child") || parts.has("remote")) && (
            <span>
              <i class="key p p-child" aria-hidden="true" /> child spans
            </span>
          )}
        </p>
      )}
      {props.red.sparkError !== "" && <p class="note bad pad">The lines failed: {visible(props.red.sparkError)}</p>}
    </div>
  );
}
