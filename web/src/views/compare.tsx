// What one set of spans does more of than another: in words, as a table with intervals, as one flame graph.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { CompareSide, ComparedFunction, Comparison, Profile } from "../api/types";
import { useAsk } from "../api/use_ask";
import { FlameGraph } from "../flame/flame_graph";
import { diffOf } from "../flame/tree";
import { visible } from "../format/safe_text";
import { count, duration, ESTIMATE, signed, value } from "../format/units";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { asked, type Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { TimeParts } from "./compare_time";

interface Cohort {
  spans: number;
  sampledSpans: number;
  reason: string;
  profile: Profile;
}

/** Where the server split a query's spans by duration: "p95 (210 ms)" in its words is not enough, so it is asked for. */
const SPLITS = ["p50", "p75", "p90", "p95", "p99", "errors"] as const;

function Side(props: { title: string; side: CompareSide; unit: string }) {
  const { side } = props;
  return (
    <div class="card">
      <h3>{props.title}</h3>
      <p class="mono wrap">
        <bdi>{visible(side.words)}</bdi>
      </p>
      <dl class="facts">
        <dt>spans</dt>
        <dd>
          {count(side.spans)} <span class="faint">of {side.isFoundEstimate ? ESTIMATE : ""}
            {count(side.found)} found, {count(side.sampledSpans)} with samples</span>
        </dd>
        <dt>duration</dt>
        <dd>{duration(side.meanDurationNs)} on average</dd>
        <dt>sampled</dt>
        <dd>{value(side.meanValue, props.unit)} per span</dd>
      </dl>
    </div>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function columns(unit: string): Column<ComparedFunction>[] {
  return [
    { key: "function", title: "Function", by: (f) => f.function, cell: (f) => <Name text={f.function} class="mono" /> },
    { key: "left", title: "Baseline", isNumber: true, by: (f) => f.left, cell: (f) => value(f.left, unit), hint: "per span" },
    { key: "right", title: "Comparison", isNumber: true, by: (f) => f.right, cell: (f) => value(f.right, unit), hint: "per span" },
    { key: "delta", title: "Difference", isNumber: true, by: (f) => Math.abs(f.delta), cell: (f) => <b class={f.delta > 0 ? "more" : "less"}>{signed(value(f.delta, unit), f.delta)}</b> },
    {
      key: "interval",
      title: "95 % interval",
      isNumber: true,
      cell: (f) => (f.low === undefined || f.high === undefined ? <span class="faint">too few spans</span> : `${value(f.low, unit)} to ${value(f.high, unit)}`),
    },
    { key: "sure", title: "", cell: (f) => (f.isSignificant ? <span class="tag">significant</span> : <span class="faint">not significant</span>) },
  ];
}

/** Two cohorts over one another. */
function DiffGraph(props: { left: string; right: string; range: Range; type: string | undefined }) {
  const times = asked(props.range);
  const key = JSON.stringify([props.left, props.right, times, props.type]);
  const both = useAsk<{ left: Cohort; right: Cohort }>(key, async (s) => {
    const one = (q: string) => get<Cohort>("/api/v1/cohort", { q, ...times, type: props.type, per: "all" }, s);
    const [left, right] = await Promise.all([one(props.left), one(props.right)]);
    return { data: { left: left.data, right: right.data }, partial: left.partial || right.partial };
  });
  const tree = useMemo(() => (both.data ? diffOf(both.data.left.profile, both.data.right.profile) : undefined), [both.data]);
  const requests = useMemo(() => (both.data && both.data.left.spans > 0 && both.data.right.spans > 0 ? { left: both.data.left.spans, right: both.data.right.spans } : undefined), [both.data]);
  return (
    <AskedFrame asked={both} empty={(d) => (d.left.profile.total + d.right.profile.total === 0 ? <p>{visible(d.right.reason || d.left.reason) || "Neither side has samples."}</p> : undefined)}>
      {() => tree && <FlameGraph tree={tree} label="Difference per span" diffBy={requests ? "request" : "absolute"} requests={requests} />}
    </AskedFrame>
  );
}

/** A duration in the words of the comparison: "below p95 (210 ms) of …". */
function splitAt(words: string): string {
  const m = /\((\d+(?:\.\d+)?) ?(ns|µs|us|ms|s)\)/.exec(words);
  return m ? `${m[1] ?? ""}${(m[2] ?? "").replace("µs", "us")}` : "";
}

function sidesOf(url: Readonly<Record<string, string>>, c: Comparison): { left: string; right: string } | undefined {
  const { left, right, q } = url;
  if (left !== undefined && right !== undefined) return { left, right };
  if (q === undefined) return undefined;
  const inner = /^\s*\{(.*)\}\s*$/s.exec(q)?.[1]?.trim();
  if (inner === undefined) return undefined;
  const with_ = (more: string) => (inner === "" ? `{ ${more} }` : `{ (${inner}) && ${more} }`);
  if (url["split"] === "errors") return { left: with_("status != error"), right: with_("status = error") };
  const at = splitAt(c.left.words) || splitAt(c.right.words);
  return at === "" ? undefined : { left: with_(`duration < ${at}`), right: with_(`duration >= ${at}`) };
}

export function Compare(props: { range: Range }) {
  const url = useUrl();
  const query = { q: url["q"], left: url["left"], right: url["right"], split: url["q"] === undefined ? undefined : (url["split"] ?? "p95"), type: url["type"], ...asked(props.range) };
  const has = query.q !== undefined || (query.left !== undefined && query.right !== undefined);
  const answer = useAsk<Comparison>(has ? JSON.stringify(query) : "", (s) => get("/api/v1/compare", query, s));
  const sides = answer.data && sidesOf(url, answer.data);
  return (
    <section aria-labelledby="compare-title" class="column">
      <h1 id="compare-title">Compare</h1>
      {url["left"] === undefined && (
        <form
          class="row"
          onSubmit={(e) => {
            e.preventDefault();
            const typed = new FormData(e.currentTarget).get("q");
            change({ q: typeof typed === "string" ? typed : "" });
          }}
        >
          <label class="grow row">
            Spans <input name="q" class="grow mono" defaultValue={url["q"] ?? "{ }"} key={url["q"]} aria-label="TraceQL of the spans" />
          </label>
          <label>
            split at{" "}
            <select value={query.split} onChange={(e) => change({ split: e.currentTarget.value })}>
              {SPLITS.map((s) => (
                <option key={s}>{s}</option>
              ))}
            </select>
          </label>
          <button type="submit" class="main">
            Compare
          </button>
        </form>
      )}
      {!has && <p class="note">A TraceQL query picks spans; the slow ones are compared with the fast ones, or the failed with the others.</p>}
      {has && (
        <AskedFrame asked={answer}>
          {(c) => (
            <>
              {c.time.summary !== "" && <p class="answer">{visible(capital(c.time.summary))}.</p>}
              {c.note !== "" && <p class="note">{visible(c.note)}</p>}
              {c.reason !== "" && <p class="note warn">{visible(c.reason)}</p>}
              <div class="cards">
                <Side title="Baseline" side={c.left} unit={c.unit} />
                <Side title="Comparison" side={c.right} unit={c.unit} />
              </div>
              <TimeParts time={c.time} />
              {c.functions.length > 0 && <div class="panel table-part">
                <h2>{c.type === "" ? "Functions" : `Functions by ${visible(c.type.split(":")[1] ?? c.type)}`}</h2>
                <SortTable label="Functions that differ" columns={columns(c.unit)} rows={c.functions} rowKey={(f) => f.function} max={50} stateKey="sort" />
              </div>}
              {sides && (
                <div class="panel graph-part">
                  <DiffGraph left={sides.left} right={sides.right} range={props.range} type={url["type"]} />
                </div>
              )}
            </>
          )}
        </AskedFrame>
      )}
    </section>
  );
}
