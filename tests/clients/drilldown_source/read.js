// Traces Drilldown's own code, for a test to use: it writes the queries, and reads our answers. One step in each line of
// standard input, one line of JSON for each.
//
//     {"do": "queries"}                     what its screens ask for
//     {"do": "structure", "answer": text}   the tree it draws of a raw answer of /api/search
//     {"do": "exceptions", "rows": [[message, type, ms, service], ...]}
import readline from "node:readline";
import { buildExceptionsQuery } from "drilldown/components/Explore/queries/exceptions";
import { buildHistogramQuery } from "drilldown/components/Explore/queries/histogram";
import { comparisonQuery } from "drilldown/components/Explore/queries/comparisonQuery";
import { generateMetricsQuery } from "drilldown/components/Explore/queries/generateMetricsQuery";
import { parseTraces } from "drilldown/components/Explore/TracesByService/Tabs/Structure/StructureScene";
import { aggregateExceptions, formatExceptionMessageTraceQLFilter }
  from "drilldown/components/Explore/TracesByService/Tabs/Exceptions/ExceptionUtils";
import { primarySignalOptions } from "drilldown/pages/Explore/primary-signals";
import { renderTraceQLLabelFilters } from "drilldown/utils/filters-renderer";
import { defaultFavoriteResourceAttributes, defaultFavoriteSpanAttributes, VAR_DURATION_PERCENTILES_EXPR, VAR_FILTERS_EXPR }
  from "drilldown/utils/shared";
import { dumpTree, mergeTraces } from "drilldown/utils/trace-merge/merge";

const FILTERS = [
  [], [{ key: "resource.service.name", operator: "=", value: "shop" }],
  [{ key: "resource.service.name", operator: "=~", value: "sh.p|\"x\"\n" }, { key: "status", operator: "!=", value: "ok" }],
  [{ key: "span.http.status_code", operator: ">=", value: "500" }, { key: "duration", operator: ">", value: "1ms" }],
  [{ key: "kind", operator: "=", value: "server" }, { key: "span.http.status_code", operator: "=", value: "\"500\"" }],
];
const SELECTIONS = [
  undefined, { query: "status = error" }, { duration: { from: "100ms", to: "1s" } },
  { query: "status = error", duration: { from: "1ms", to: "" }, timeRange: { from: 1700000000, to: 1700000060 } },
];

function filled(query, signal, filters) {
  const both = VAR_FILTERS_EXPR.replace("${primarySignal}", () => signal).replace("${filters}", () => renderTraceQLLabelFilters(filters));
  return query.replaceAll(VAR_FILTERS_EXPR, () => both).replaceAll(VAR_DURATION_PERCENTILES_EXPR, "0.5,0.9");
}

function queries() {
  const metrics = new Set(), search = new Set();
  const keys = [...defaultFavoriteResourceAttributes, ...defaultFavoriteSpanAttributes];
  for (const { value: signal } of primarySignalOptions) {
    for (const filters of FILTERS) {
      for (const metric of ["rate", "errors", "duration"]) {
        metrics.add(filled(generateMetricsQuery({ metric, sample: true }), signal, filters));
        for (const groupByKey of filters.length ? keys.slice(0, 2) : keys) {
          metrics.add(filled(generateMetricsQuery({ metric, groupByKey }), signal, filters));
        }
      }
      metrics.add(filled(buildHistogramQuery().query, signal, filters));
      for (const selection of SELECTIONS) {
        metrics.add(filled(`{${VAR_FILTERS_EXPR}} | compare(${comparisonQuery(selection)})`, signal, filters));
      }
      search.add(filled(buildExceptionsQuery().query, signal, filters));
    }
  }
  return { metrics: [...metrics], search: [...search], signals: primarySignalOptions.map((s) => s.value) };
}

function exceptions(rows) {
  const field = (i) => ({ values: rows.map((row) => row[i]) });
  const told = aggregateExceptions(field(0), field(1), field(2), field(3));
  return { ...told, filters: told.messages.map(formatExceptionMessageTraceQLFilter) };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const step = JSON.parse(line);
  let answer;
  try {
    answer = step.do === "queries" ? queries()
      : step.do === "structure" ? { tree: dumpTree(mergeTraces(parseTraces(step.answer)), 0) }
        : exceptions(step.rows);
  } catch (e) {
    answer = { error: String(e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
