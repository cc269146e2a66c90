import { useEffect, useMemo, useState } from "preact/hooks";
import type { Services } from "../api/types";
import { visible } from "../format/safe_text";
import { countOf } from "../format/units";
import { AnswerCard } from "../overview/answer_cards";
import { DeployList } from "../overview/deploy_list";
import { entriesOf, KpiStrip } from "../overview/kpi_strip";
import { neighbours } from "../overview/map_layout";
import { MAP_WORDS, ServiceMap, useCalls, type MapBy } from "../overview/service_map";
import { ServicesTable } from "../overview/services_table";
import { SlowRequests } from "../overview/slow_requests";
import { useDeploys } from "../overview/use_deploys";
import { ranked, useFindings } from "../overview/use_findings";
import { useRed } from "../overview/use_red";
import { ViewLink } from "../parts/link";
import { Segment } from "../parts/segment";
import { AskedFrame, Failure, Skeleton, SlowWords } from "../parts/states";
import { tellFindings } from "../shell/badges";
import { tellServices } from "../shell/use_known_services";
import { useHead } from "../state/head";
import type { Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { NothingHere } from "./nothing_here";
import { reasonOf } from "./dismissed";
import { useCosts } from "./use_costs";

const ANSWERS = 3;
const MAP_MOST = 14;

function MapCard(props: { range: Range; services: Services["services"]; slower: ReadonlySet<string>; calls: ReturnType<typeof useCalls> }) {
  const url = useUrl();
  const { calls } = props;
  const by = MAP_WORDS.find(([k]) => k === url["map"])?.[0] ?? "time";
  const text = (url["filter"] ?? "").toLowerCase();
  const shown = useMemo(() => {
    const all = calls.data ?? [];
    if (text === "") return all;
    return neighbours(new Set(props.services.filter((s) => s.service.toLowerCase().includes(text)).map((s) => s.service)), all);
  }, [calls.data, text, props.services]);
  const names = new Set(shown.flatMap((c) => [c.parent, c.child]));
  return (
    <div class="card mapc">
      <header>
        <h2>
          <ViewLink to={{ view: "map" }}>Service map</ViewLink>
        </h2>
        <span class="spring" />
        <Segment<MapBy> label="Calls by" value={by} of={MAP_WORDS} onChange={(m) => change({ map: m === "time" ? "" : m }, true)} />
      </header>
      {calls.error && <p class="note bad pad">The map failed: {visible(calls.error.message)}</p>}
      {!calls.data && !calls.error && (
        <div class="state loading">
          <Skeleton />
          <SlowWords asked={calls} />
        </div>
      )}
      {calls.data && shown.length === 0 && <p class="state">No service calls another {text === "" ? "in this time" : "of these"}.</p>}
      {names.size > MAP_MOST ? (
        <p class="state">
          {countOf(names.size, "service")} are too many for this corner.{" "}
          <ViewLink to={{ view: "map" }} class="link">
            Open the map
          </ViewLink>
          , or filter the services.
        </p>
      ) : (
        shown.length > 0 && (
          <div class="map-box" tabIndex={0} role="region" aria-label="Service map">
            <ServiceMap calls={shown} services={props.services} slower={props.slower} by={by} range={props.range} down={true} />
          </div>
        )
      )}
    </div>
  );
}

function Whole(props: { data: Services; range: Range; red: ReturnType<typeof useRed>; onMain: (isThere: boolean) => void }) {
  const { range, red } = props;
  const { services } = props.data;
  const findings = useFindings(range);
  const calls = useCalls(range);
  const isKnown = calls.data !== undefined || calls.error !== undefined;
  // The server answers in order: what a person looks at first is asked first, comparisons and details after it.
  const isMain = isKnown && (findings.data !== undefined || findings.error !== undefined);
  useEffect(() => props.onMain(isMain), [isMain]);
  const costs = useCosts(isMain ? range : undefined);
  const entries = useMemo(() => (isKnown ? entriesOf(services, calls.data ?? []) : []), [services, calls.data, isKnown]);
  const { asked: versions, deploys } = useDeploys(range);
  const told = useMemo(() => ranked(findings.data).filter((f) => reasonOf(f) === undefined), [findings.data]);
  // The first three are of three services, where there are as many.
  const first = useMemo(() => {
    const seen = new Set<string>();
    const some = told.filter((f) => {
      const isFirst = !seen.has(f.service);
      seen.add(f.service);
      return isFirst;
    });
    return [...some, ...told.filter((f) => !some.includes(f))].slice(0, ANSWERS);
  }, [told]);
  const share = (ms: number) => (ms - range.fromMs) / (range.untilMs - range.fromMs || 1);
  const marks = useMemo(() => {
    const out = new Map<string, number[]>();
    for (const d of deploys) out.set(d.service, [...(out.get(d.service) ?? []), share(d.ms)]);
    return out;
  }, [deploys, range]);
  useEffect(() => tellServices(services.map((s) => s.service)), [services]);
  useEffect(() => {
    if (findings.data) tellFindings(told, false);
  }, [told]);
  return (
    <>
      <KpiStrip range={range} services={services} before={red.before} calls={calls} marks={[...marks.values()].flat()} costs={costs} isLate={isMain} />
      {!findings.data && !findings.error && (
        <div class="answers" aria-hidden="true">
          {[0, 1, 2].map((n) => (
            <div class="card ans" key={n}>
              <Skeleton />
            </div>
          ))}
        </div>
      )}
      {first.length > 0 && (
        <div class="answers" aria-label="Top findings" role="group">
          {first.map((f) => (
            <AnswerCard key={`${f.service} ${f.kind} ${f.subject}`} finding={f} />
          ))}
        </div>
      )}
      {told.length > first.length && (
        <p class="more-findings">
          {first.length} of {told.length} findings.{" "}
          <ViewLink to={{ view: "findings" }} class="link">
            All of them
          </ViewLink>
        </p>
      )}
      {findings.error && <Failure what="the findings" sentence={findings.error.message} status={findings.error.status} retryAfterS={findings.error.retryAfterS} {...(findings.data ? { keptMs: findings.atMs } : {})} again={findings.again} />}
      <div class="over">
        <ServicesTable range={range} services={services} red={red} findings={findings} marks={marks} costs={costs} isLate={isMain} />
        <MapCard range={range} services={services} slower={red.slower} calls={calls} />
      </div>
      <div class="over">
        <SlowRequests range={range} p99Ns={isKnown ? (entries[0]?.requests.p99Ns ?? 0) : undefined} />
        <div class="card">
          <header>
            <h2>Deploys</h2>
            <span class="spring" />
            <ViewLink to={{ view: "deploys" }} class="link sm">
              All
            </ViewLink>
          </header>
          {versions.error ? <p class="note bad pad">Versions could not be loaded: {visible(versions.error.message)}</p> : !versions.data ? <div class="state loading"><Skeleton /></div> : deploys.length === 0 ? <p class="state">No new version in this time.</p> : <DeployList deploys={deploys} range={range} max={4} isLate={isMain} />}
        </div>
      </div>
    </>
  );
}

export function Overview(props: { range: Range }) {
  const [isMain, setMain] = useState(false);
  const red = useRed(props.range, isMain);
  useHead("Services");
  return (
    <section aria-labelledby="page-title">
      <AskedFrame what="the services" asked={red.now} empty={(d) => (d.services.length === 0 ? <NothingHere range={props.range} /> : undefined)}>
        {(d) => <Whole data={d} range={props.range} red={red} onMain={setMain} />}
      </AskedFrame>
    </section>
  );
}
