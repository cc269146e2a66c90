// Every list of the page that ends says so: each place that takes the first of something stands in a table, with the words that
// tell of the rest. A place that is not in the table fails, and so do words that are gone.
import * as assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SRC = "src";

/** Files whose beginnings are those of texts, or no list that anybody sees; why. */
const TEXTS: Readonly<Record<string, string>> = {
  "charts/heatmap.tsx": "a name",
  "charts/line_chart.tsx": "a name",
  "flame/compose.ts": "rows of a picture, of which the rest are drawn elsewhere",
  "flame/draw.ts": "a name",
  "flame/export.ts": "a name",
  "flame/time_lanes.tsx": "a name",
  "flame/transform.ts": "a name",
  "flame/use_whole.ts": "stacks asked for at once; the others follow",
  "format/color.ts": "colours kept",
  "format/safe_text.ts": "a text",
  "format/units.ts": "digits",
  "overview/answer_cards.tsx": "a sentence",
  "overview/use_findings.ts": "a sentence",
  "parts/range_control.tsx": "a date",
  "search/complete.ts": "a query",
  "search/queries.ts": "queries kept in the browser",
  "shell/rail.tsx": "links of the small menu; the others are in the large one",
  "trace/keep_marks.tsx": "a date",
  "views/nothing_here.tsx": "a date",
  "views/pins.tsx": "a date",
  "views/trace.tsx": "an id",
};

/** Lists, and how the rest is told. */
const LISTS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "flame/lanes.ts": [["of path", "isCut = true"], ["a[0] - b[0])", "left: of.size - lanes.length"], ["(a.until - a.from))", "left: all.length - shown.length"]],
  "overview/deploy_list.tsx": [["props.deploys", "and {count(more)} more"]],
  "overview/slow_requests.tsx": [["rows)", "All traces past p99"], ["all", "one of each cause"], ["each.includes(r))", "one of each cause"], ["LEAST - each.length))]", "one of each cause"]],
  "overview/services_table.tsx": [["s.requests.count > 0)", "of the first ${String(MOST_TIMES)} services"]],
  "parts/first_of.tsx": [["rows", "Show {count(Math.min(more, max))} more"]],
  "parts/label_chips.tsx": [["found", "values of"], ["known", "labels: "]],
  "parts/sort_table.tsx": [["sorted", "The first {max} of {sorted.length} rows"]],
  "parts/type_choice.tsx": [["props.types", "{rest.length} more"]],
  "search/editor.tsx": [["fit", "setMore(moreOf("]],
  "search/facets.tsx": [["f.values", "and {count(f.values.length - SHOWN)} more"]],
  "search/metric_chart.tsx": [["all", "The {DRAWN} largest of"]],
  "shell/find_box.tsx": [["fit", "and {fit.length - SERVICES} more services"]],
  "trace/span_source.tsx": [["all", "cheaper functions are not listed"]],
  "views/alerts.tsx": [["some", "The first {SHOWN} of {count(some.length)}"]],
  "views/deploy_timeline.tsx": [["services", "more, in the list"]],
  "views/compare.tsx": [["parts", "Smaller parts together"], ["steps", "Smaller parts together"]],
  "views/compare_time.tsx": [["part.functions", "{more} more in this part"]],
  "views/coverage.tsx": [["d.services", "{shown} of {d.services.length} services"]],
  "views/first_use.tsx": [["names", "and ${String(more)} more"]],
  "views/findings.tsx": [["open", "{shown} of {open.length} findings"], ["r.services", "and ${count(r.services.length - NAMED)} more"]],
  "views/overview.tsx": [["some.includes(f))]", "{first.length} of {told.length} findings"]],
  "trace/trace_time.ts": [["b.durationNs - a.durationNs)", "all.length - chosen.length"]],
  "views/search.tsx": [["b.ns - a.ns))", "time breakdowns of the first"]],
  "views/profiles.tsx": [["all", "{lines.length} of {lines.length + left} services are drawn"]],
  "why/set_why.tsx": [["Shown[])", "Best examples"]],
};

/** Texts in files that have lists, too. */
const ALSO_TEXTS: Readonly<Record<string, readonly string[]>> = {
  "search/editor.tsx": ["text"],
  "views/alert_lines.tsx": ["WEEK_MS)"],
  "views/alerts.tsx": ["text"],
  "views/compare.tsx": ["text", "moment(ms)"],
  "views/search.tsx": ["r.trace.traceID", "visible(q)"],
};

function sources(folder: string): string[] {
  return readdirSync(`${SRC}/${folder}`, { withFileTypes: true }).flatMap((e) => {
    const path = folder === "" ? e.name : `${folder}/${e.name}`;
    return e.isDirectory() ? sources(path) : /\.tsx?$/.test(e.name) ? [path] : [];
  });
}

test("every list that ends says so", () => {
  const met = new Set<string>();
  for (const file of sources("")) {
    const text = readFileSync(`${SRC}/${file}`, "utf8");
    for (const m of text.matchAll(/([^\n]*?)\.slice\(0, /g)) {
      const before = m[1] ?? "";
      if (file in TEXTS) continue;
      if ((ALSO_TEXTS[file] ?? []).some((t) => before.endsWith(t))) continue;
      const list = (LISTS[file] ?? []).find(([of]) => before.endsWith(of));
      if (!list) throw new Error(`${file}: ...${before.slice(-60)}.slice(0, …) cuts a list: say how many are left out, and enter it in this test`);
      assert.ok(text.includes(list[1]), `${file}: ${list[0]} is cut, and "${list[1]}" is not said`);
      met.add(`${file} ${list[0]}`);
    }
  }
  for (const [file, lists] of Object.entries(LISTS)) for (const [of] of lists) assert.ok(met.has(`${file} ${of}`), `${file}: ${of} is not cut any more`);
});

test("what a limit of a call left out is said", () => {
  const says = (file: string, words: string) => assert.ok(readFileSync(`${SRC}/${file}`, "utf8").includes(words), `${file}: ${words}`);
  says("views/search.tsx", "older ones may match too");
  says("views/frame_spans.tsx", "<b>{count(d.found)}</b> spans");
  says("views/alerts.tsx", "older ones are kept");
  says("views/findings.tsx", "busiest services were looked at");
  says("views/compare_time.tsx", "with smaller differences are not listed");
  says("overview/slow_requests.tsx", "older ones may be slower");
  says("trace/span_compare.tsx", "or more");
});
