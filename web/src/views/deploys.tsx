import { useMemo, useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { clock, count, moment } from "../format/units";
import { deployLink, hasSides, twoLink, useDeploys, type Deploy } from "../overview/use_deploys";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { useHead } from "../state/head";
import { isAddress } from "../state/links";
import type { Range } from "../state/range";
import { DeployTimeline } from "./deploy_timeline";
import { CpuChange, DeployVerdict, DurationChange, ErrorsChange } from "./deploy_figures";
import { cpuChange, durationChange, errorsChange, keyOf, useDeployChanges } from "./use_deploy_changes";

/** Rows of the table; changes are loaded for as many, since each costs the server two queries. */
const ROWS = 50;
const HINT = "Change per request against the version before, with its 95 % interval";

/** The version, and what whoever deployed it told. */
function Told(props: { deploy: Deploy }) {
  const { deploy: d } = props;
  return (
    <>
      <Name text={d.version} class="mono b" />
      {d.environment !== "" && <> <span class="chip"><Name text={d.environment} /></span></>}
      {d.comment !== "" && <> <Name text={d.comment} class="f3 sm told-comment" /></>}
      {isAddress(d.url) && (
        <>
          {" "}
          <a class="link sm" href={d.url} target="_blank" rel="noopener noreferrer" title={visible(d.url)}>
            Details
          </a>
        </>
      )}
      {d.against !== "" && (
        <span class="f3 sub">
          after <Name text={d.against} class="mono" />
        </span>
      )}
    </>
  );
}

/** Versions that began in the range, newest first, and what each changed. */
export function DeploysView(props: { range: Range }) {
  const { range } = props;
  const { asked, deploys } = useDeploys(range);
  useHead("Deploys");
  const span = range.untilMs - range.fromMs;
  const [picked, setPicked] = useState<readonly string[]>([]);
  const pick = (key: string) => setPicked((was) => (was.includes(key) ? was.filter((k) => k !== key) : [...was, key].slice(-2)));
  const [most, setMost] = useState(ROWS);
  const changes = useDeployChanges(deploys, range, most);
  const two = deploys.filter((d) => picked.includes(keyOf(d))).sort((a, b) => a.ms - b.ms);
  const columns = useMemo(
    (): Column<Deploy>[] => [
      { key: "pick", title: "", cell: (d) => (d.key === "" ? null : <input type="checkbox" checked={picked.includes(keyOf(d))} onChange={() => pick(keyOf(d))} aria-label={`Compare ${visible(d.service)} ${visible(d.version)}`} title="Select two deploys to compare them" />) },
      { key: "when", title: "When", by: (d) => d.ms, cell: (d) => <span title={moment(d.ms)}>{clock(d.ms, span)}</span> },
      { key: "service", title: "Service", by: (d) => d.service, cell: (d) => <ViewLink to={{ view: "service", service: d.service }} class="service"><ServiceMark name={d.service} /><Name text={d.service} /></ViewLink> },
      { key: "version", title: "Version", by: (d) => d.version, cell: (d) => <Told deploy={d} /> },
      { key: "duration", title: "Duration", hint: HINT, isNumber: true, by: (d) => durationChange(changes.get(keyOf(d)))?.delta, cell: (d) => <DurationChange deploy={d} change={changes.get(keyOf(d))} /> },
      { key: "cpu", title: "CPU", hint: `${HINT}; CPU time of this service in the span that enters and its own child spans`, isNumber: true, by: (d) => cpuChange(changes.get(keyOf(d)))?.delta, cell: (d) => <CpuChange deploy={d} change={changes.get(keyOf(d))} /> },
      { key: "errors", title: "Errors", hint: HINT, isNumber: true, by: (d) => errorsChange(changes.get(keyOf(d)))?.delta, cell: (d) => <ErrorsChange deploy={d} change={changes.get(keyOf(d))} /> },
      { key: "verdict", title: "What it changed", isWide: true, cell: (d) => <DeployVerdict deploy={d} change={changes.get(keyOf(d))} /> },
      { key: "do", title: "", cell: (d) => (hasSides(d) ? <ViewLink to={deployLink(d)} class="btn s">Before and after</ViewLink> : null) },
    ],
    [range, picked, changes],
  );
  return (
    <section aria-labelledby="page-title">
      <AskedFrame what="the deploys" asked={asked} empty={() => (deploys.length === 0 ? <p>No deploys in this time. A version is taken from <code>service.version</code> or <code>commit</code> of spans or profiles, or from <code>POST /api/v1/deploys</code>.</p> : undefined)}>
        {() => (
          <div class="card">
            <div class="toolbar">
              <h2>Deploys</h2>
              <span class="f3">{count(deploys.length)}</span>
              <span class="spring" />
              {two[0] && two[1] ? (
                <ViewLink to={twoLink(two[0], two[1])} class="btn s">Compare these two</ViewLink>
              ) : (
                <span class="f3 sm">{two.length === 1 ? "Select one more to compare the two." : "Select two to compare them."}</span>
              )}
            </div>
            <DeployTimeline deploys={deploys} range={range} />
            <SortTable label="Deploys" columns={columns} rows={deploys} rowKey={keyOf} first="when" stateKey="sort" max={ROWS} />
            {deploys.length > most && (
              <p class="note pad">
                Changes are loaded for the {count(most)} newest deploys.{" "}
                <button type="button" class="btn s" onClick={() => setMost(deploys.length)}>
                  Load all
                </button>
              </p>
            )}
          </div>
        )}
      </AskedFrame>
    </section>
  );
}
