import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk } from "../api/use_ask";
import { LineChart, type Line } from "../charts/line_chart";
import { serviceColor } from "../format/color";
import { visible } from "../format/safe_text";
import { count, duration, rate, short } from "../format/units";
import { AskedFrame } from "../parts/states";
import type { Range } from "../state/range";
import { change } from "../state/url";
import { plain } from "../trace/rows";
import { stepOf } from "../views/latency";

const DRAWN = 12;

/** What the numbers of a query are, as far as its text says. */
export function measureOfQuery(q: string): (n: number) => string {
  if (/(quantile|avg|min|max|sum|histogram)_over_time\(\s*(span:)?duration/.test(q)) return (n) => duration(n * 1e9);
  if (/\|\s*rate\(/.test(q)) return rate;
  return (n) => (Number.isInteger(n) ? count(n) : short(n));
}

function nameOf(labels: MetricAnswer["series"] extends (infer S)[] | undefined ? (S extends { labels: infer L } ? L : never) : never): string {
  const words = labels.filter((l) => l.key !== "__name__" && l.key !== "__meta_type").map((l) => (l.key === "p" ? `p${String(Number(plain(l.value)) * 100)}` : plain(l.value)));
  return words.join(" ") || "all";
}

/** `| rate()` and friends over the range, the largest of them as lines. */
export function MetricChart(props: { q: string; range: Range }) {
  const { q, range } = props;
  const step = stepOf(range);
  const answer = useAsk<MetricAnswer>(JSON.stringify(["metric", q, range]), (s) => metrics(q, range, step, s), true);
  const format = useMemo(() => measureOfQuery(q), [q]);
  const { times, lines, more } = useMemo(() => {
    const all = (answer.data?.series ?? []).map((s) => ({ name: nameOf(s.labels), samples: s.samples ?? [], most: Math.max(0, ...(s.samples ?? []).map((p) => p.value ?? 0)) }));
    all.sort((a, b) => b.most - a.most || (a.name < b.name ? -1 : 1));
    const drawn = all.slice(0, DRAWN);
    const times = [...new Set(drawn.flatMap((s) => s.samples.map((p) => Number(p.timestampMs))))].sort((a, b) => a - b);
    const isDuration = /duration/.test(q);
    const lines: Line[] = drawn.map((s) => {
      const at = new Map(s.samples.map((p) => [Number(p.timestampMs), p.value]));
      return { name: visible(s.name), color: serviceColor(s.name), values: times.map((t) => (isDuration ? at.get(t) || null : (at.get(t) ?? null))) };
    });
    return { times, lines, more: all.length - drawn.length };
  }, [answer.data, q]);
  return (
    <AskedFrame what="the chart" asked={answer} empty={() => (lines.length === 0 ? <p>No span in this time matches, so there is nothing to draw.</p> : undefined)}>
      {() => (
        <div class="card pad">
          <LineChart title={`Per ${String(step)} s`} times={times} lines={lines} {...range} format={format} height={300} isNamed onRange={(from, until) => change({ from: String(Math.round(from)), until: String(Math.round(until)) })} />
          {more > 0 && <p class="note">The {DRAWN} largest of {count(lines.length + more)} are drawn.</p>}
        </div>
      )}
    </AskedFrame>
  );
}
