import { useMemo } from "preact/hooks";
import { visible } from "../format/safe_text";
import { countOf, rate } from "../format/units";
import { neighbours, type Call } from "../overview/map_layout";
import { callWords, MAP_WORDS, p95Words, ServiceMap, timeShare, useCalls, type MapBy } from "../overview/service_map";
import { useRed } from "../overview/use_red";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Segment } from "../parts/segment";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { useHead } from "../state/head";
import type { Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";

/** Who calls whom, as a picture and as a list. */
export function MapView(props: { range: Range }) {
  const url = useUrl();
  const calls = useCalls(props.range);
  const red = useRed(props.range, calls.data !== undefined || calls.error !== undefined);
  const by = MAP_WORDS.find(([k]) => k === url["map"])?.[0] ?? "time";
  const text = (url["filter"] ?? "").toLowerCase();
  useHead("Service map", "Service map");
  const services = red.now.data?.services ?? [];
  const of = useMemo(() => new Map(services.map((s) => [s.service, s])), [services]);
  const shown = useMemo(() => {
    const all = calls.data ?? [];
    return text === "" ? all : neighbours(new Set(all.flatMap((c) => [c.parent, c.child]).filter((n) => n.toLowerCase().includes(text))), all);
  }, [calls.data, text]);
  const seconds = Math.max(1, (props.range.untilMs - props.range.fromMs) / 1e3);
  const columns: Column<Call>[] = [
    { key: "parent", title: "Caller", by: (c) => c.parent, cell: (c) => <ViewLink to={{ view: "service", service: c.parent }}><Name text={c.parent} /></ViewLink> },
    { key: "child", title: "Calls", by: (c) => c.child, cell: (c) => <ViewLink to={{ view: "service", service: c.child }}><Name text={c.child} /></ViewLink> },
    { key: "rate", title: "Calls per second", isNumber: true, by: (c) => c.callCount, cell: (c) => rate(c.callCount / seconds) },
    { key: "errors", title: "Failed requests of it", isNumber: true, by: (c) => of.get(c.child)?.requests.errorShare ?? -1, cell: (c) => callWords(c, "errors", of, seconds) || "–" },
    { key: "p95", title: "Its p95", isNumber: true, by: (c) => of.get(c.child)?.requests.p95Ns ?? -1, cell: (c) => p95Words(of.get(c.child)?.requests) || "–" },
    { key: "share", title: "Of the caller's time", hint: "an estimate: time of its requests divided by the caller's time; concurrent calls can exceed 100 %", isNumber: true, by: (c) => timeShare(c, of) ?? -1, cell: (c) => callWords(c, "time", of, seconds) || "–" },
  ];
  return (
    <section aria-labelledby="page-title">
      <div class="card">
        <div class="toolbar">
          <h2>Service map</h2>
          <span class="f3">{calls.data ? `${countOf(new Set(shown.flatMap((c) => [c.parent, c.child])).size, "service")}, ${countOf(shown.length, "call")}` : ""}</span>
          <input type="search" class="filter" placeholder="Filter services" aria-label="Filter services" value={url["filter"] ?? ""} onInput={(e) => change({ filter: e.currentTarget.value }, true)} />
          <span class="spring" />
          <Segment<MapBy> label="Calls by" value={by} of={MAP_WORDS} onChange={(m) => change({ map: m === "time" ? "" : m }, true)} />
        </div>
        {red.now.error && <p class="note bad pad">The figures of services failed: {visible(red.now.error.message)}</p>}
        <AskedFrame what="the calls" asked={calls} empty={() => (shown.length === 0 ? <p>No service calls another in this time.</p> : undefined)}>
          {() => (
            <div class="map-box wide" tabIndex={0} role="region" aria-label="Service map">
              <ServiceMap calls={shown} services={services} slower={red.slower} by={by} range={props.range} down={false} />
            </div>
          )}
        </AskedFrame>
      </div>
      {shown.length > 0 && (
        <div class="panel">
          <SortTable label="Calls between services" columns={columns} rows={shown} rowKey={(c) => `${c.parent}\0${c.child}`} first="rate" stateKey="sort" max={200} />
        </div>
      )}
    </section>
  );
}
