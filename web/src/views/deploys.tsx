import { useMemo } from "preact/hooks";
import { clock, count, moment } from "../format/units";
import { deployLink, useDeploys, type Deploy } from "../overview/use_deploys";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { useHead } from "../state/head";
import type { Range } from "../state/range";
import { DeployVerdict } from "./deploy_verdict";

/** Versions that began in the range, newest first, and what each changed. */
export function DeploysView(props: { range: Range }) {
  const { range } = props;
  const { asked, deploys } = useDeploys(range);
  useHead("Deploys");
  const span = range.untilMs - range.fromMs;
  const columns = useMemo(
    (): Column<Deploy>[] => [
      { key: "when", title: "When", by: (d) => d.ms, cell: (d) => <span title={moment(d.ms)}>{clock(d.ms, span)}</span> },
      { key: "service", title: "Service", by: (d) => d.service, cell: (d) => <ViewLink to={{ view: "service", service: d.service }} class="service"><ServiceMark name={d.service} /><Name text={d.service} /></ViewLink> },
      { key: "version", title: "Version", by: (d) => d.version, cell: (d) => <Name text={d.version} class="mono b" /> },
      { key: "against", title: "Before", by: (d) => d.against, cell: (d) => <Name text={d.against} class="mono" /> },
      { key: "verdict", title: "What it changed", isWide: true, cell: (d) => <DeployVerdict deploy={d} range={range} /> },
      { key: "do", title: "", cell: (d) => <ViewLink to={deployLink(d)} class="btn s">Before and after</ViewLink> },
    ],
    [range],
  );
  return (
    <section aria-labelledby="page-title">
      <AskedFrame asked={asked} empty={() => (deploys.length === 0 ? <p>No service began a new version in this time. A version is what <code>service.version</code> or <code>commit</code> of its spans says.</p> : undefined)}>
        {() => (
          <div class="card">
            <div class="toolbar">
              <h2>Deploys</h2>
              <span class="f3">{count(deploys.length)}</span>
            </div>
            <SortTable label="Deploys" columns={columns} rows={deploys} rowKey={(d) => `${d.service} ${d.version} ${String(d.ms)}`} first="when" stateKey="sort" max={50} />
          </div>
        )}
      </AskedFrame>
    </section>
  );
}
