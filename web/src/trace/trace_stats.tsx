import { useMemo } from "preact/hooks";
import type { Trace } from "../api/types";
import { count, duration, percent } from "../format/units";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { SortTable, type Column } from "../parts/sort_table";
import { groupsOf, type SpanGroup } from "./rows";

/** Spans by service and operation. */
export function TraceStats(props: { trace: Trace }) {
  const rows = useMemo(() => groupsOf(props.trace.spans), [props.trace]);
  const columns = useMemo(
    (): Column<SpanGroup>[] => [
      { key: "service", title: "Service", by: (g) => g.service, cell: (g) => <span class="service"><ServiceMark name={g.service} /><Name text={g.service} /></span> },
      { key: "name", title: "Operation", by: (g) => g.name, cell: (g) => <Name text={g.name} /> },
      { key: "count", title: "Spans", isNumber: true, by: (g) => g.count, cell: (g) => count(g.count) },
      { key: "errors", title: "Errors", isNumber: true, by: (g) => g.errors, cell: (g) => <span class={g.errors > 0 ? "bad" : undefined}>{count(g.errors)}</span> },
      { key: "total", title: "Total", isNumber: true, by: (g) => g.totalNs, cell: (g) => duration(g.totalNs) },
      { key: "mean", title: "Mean", isNumber: true, by: (g) => g.totalNs / g.count, cell: (g) => duration(g.totalNs / g.count) },
      { key: "max", title: "Longest", isNumber: true, by: (g) => g.maxNs, cell: (g) => duration(g.maxNs) },
      { key: "critical", title: "Critical path", isNumber: true, by: (g) => g.criticalNs, cell: (g) => <>{duration(g.criticalNs)} <span class="faint">{percent(g.criticalNs / (props.trace.durationNs || 1))}</span></> },
    ],
    [props.trace],
  );
  return (
    <div class="table-scroll fill">
      <SortTable label="Spans by operation" columns={columns} rows={rows} rowKey={(g) => `${g.service}\0${g.name}`} first="critical" stateKey="sort" />
    </div>
  );
}
