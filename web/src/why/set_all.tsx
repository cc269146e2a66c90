// Where the spans of a query spend their time, on average: the sentence, its parts, and all of the time as one graph.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Explain, Profile } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { FlameGraph } from "../flame/flame_graph";
import { treeOf } from "../flame/tree";
import { said } from "../format/safe_text";
import { ViewLink } from "../parts/link";
import { AskedFrame } from "../parts/states";
import { asked as times, type Range } from "../state/range";
import { BreakdownBar, BreakdownTable, PartLegend } from "./parts";
import { SetWhy } from "./set_why";

interface AllTime {
  spans: number;
  reason: string;
  profile: Profile;
}

/** All time of the spans of a query: what ran, and waits as hatched frames on the function that waited. */
export function SetGraph(props: { q: string; range: Range }) {
  const path = "/api/v1/cohort";
  const query = { q: props.q, time: "all", ...times(props.range) };
  const found = useAsk<AllTime>(`set ${JSON.stringify(query)}`, (s) => get(path, query, s), true);
  const tree = useMemo(() => (found.data ? treeOf(found.data.profile) : undefined), [found.data]);
  return (
    <AskedFrame what="the spans" asked={found} empty={(d) => (d.profile.total === 0 ? <p>{said(d.reason) || "No data about these spans."}</p> : undefined)}>
      {() => tree && <FlameGraph tree={tree} label="All time of these spans, mean per span" icicle={true} mayHideStart={true} wholeWords="the mean span" server={{ path, query }} />}
    </AskedFrame>
  );
}

export function SetAll(props: { q: string; range: Range; why: Asked<Explain> }) {
  const e = props.why.data;
  return (
    <>
      <SetWhy asked={props.why} />
      {e && e.parts.length > 0 && (
        <div class="card">
          <div class="toolbar">
            <h2>Mean per span</h2>
            <span class="spring" />
            <ViewLink to={{ view: "compare", q: props.q, split: "p95" }} class="btn s">
              Slow against fast
            </ViewLink>
            <ViewLink to={{ view: "search", q: props.q }} class="link sm">
              These spans
            </ViewLink>
          </div>
          <div class="pane-bar">
            <BreakdownBar parts={e.parts} whole={e.duration_ns} isTall={true} />
          </div>
          <div class="lt-box">
            <BreakdownTable parts={e.parts} whole={e.duration_ns} chosen="" onPart={() => undefined} />
          </div>
        </div>
      )}
      <div class="card graph-part">
        <div class="toolbar">
          <h2>All time</h2>
          <span class="spring" />
          <span class="legend row">
            <PartLegend {...(e ? { has: new Set(e.parts.map((p) => (p.part === "on_cpu" ? "cpu" : p.part))) } : {})} />
          </span>
        </div>
        <SetGraph q={props.q} range={props.range} />
      </div>
    </>
  );
}
