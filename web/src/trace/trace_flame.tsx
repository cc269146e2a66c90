import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Profile, Trace, TraceFlame } from "../api/types";
import { useAsk } from "../api/use_ask";
import { FlameGraph } from "../flame/flame_graph";
import { treeOf } from "../flame/tree";
import { said, visible } from "../format/safe_text";
import { count, ESTIMATE } from "../format/units";
import { AskedFrame } from "../parts/states";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { ThinnedMark } from "./keep_marks";
import { MOST_ENTRIES, useTraceTime } from "./trace_time";
import { PartLegend } from "../why/parts";
import { typeWords } from "./span_profile";

const WEIGHTS: readonly (readonly [string, string])[] = [
  ["critical-path", "Critical path"],
  ["wall", "Wall clock"],
  ["samples", "Samples"],
];

/** Which parts of time have frames of their own; what runs is code. */
export function partsIn(p: Profile): ReadonlySet<string> {
  const out = new Set<string>();
  for (const f of p.frames) {
    const kind = f.kind ?? "";
    if (kind.startsWith("wait ")) out.add(kind.slice(5));
    if (kind === "running") out.add("cpu");
    if (kind === "unknown") out.add("unknown");
  }
  return out;
}

/** The whole request, over all its services, as one graph. */
export function TraceFlamePane(props: { trace: Trace }) {
  const url = useUrl();
  const by = url["by"] ?? "critical-path";
  const path = `/api/v1/traces/${props.trace.traceId}/flame`;
  // Bars of time are filled with all of it, waits included; samples are of one type of profile.
  const isTime = by !== "samples";
  const query = isTime ? { by, waits: "true" } : { by, type: url["type"] };
  const asked = useAsk<TraceFlame>(`${path} ${JSON.stringify(query)}`, (s) => get(path, query, s));
  const time = useTraceTime(props.trace, isTime || !asked.data || asked.data.profile.total === 0 ? undefined : asked.data.profile.type);
  const timeline = time.data && time.data.moments.length > 0 ? time.data : undefined;
  const tree = useMemo(() => (asked.data ? treeOf(asked.data.profile) : undefined), [asked.data]);
  return (
    <AskedFrame what="the flame graph" asked={asked} empty={(d) => (d.profile.total === 0 ? <><ThinnedMark keep={d.keep} /><p>{said(d.reason) || "This trace has no samples."}</p></> : undefined)}>
      {(d) => (
        <div class="trace-flame">
          <div class="row">
            <span class="segment" role="group" aria-label="Bars weigh">
              {WEIGHTS.map(([key, words]) => (
                <button type="button" key={key} aria-pressed={by === key} onClick={() => change({ by: key === "critical-path" ? "" : key, type: "", fz: "" })}>
                  {words}
                </button>
              ))}
            </span>
            {!isTime && d.types.length > 1 && (
              <select aria-label="Profile type" value={d.profile.type} onChange={(e) => change({ type: e.currentTarget.value, fz: "" })}>
                {d.types.map((t) => (
                  <option key={t} value={t}>
                    {typeWords(t)}
                  </option>
                ))}
              </select>
            )}
            <span class="faint">
              {d.sampledSpans} of {d.spans} spans have samples, {count(Math.max(d.samples, Math.round(d.looks ?? 0)))} in all
            </span>
            <ThinnedMark keep={d.keep} />
            {d.isEstimate === true && (
              <span class="trust none" title="The division of samples among the spans of a request is an estimate; the totals of a service are exact">
                {ESTIMATE} estimate
              </span>
            )}
          </div>
          {d.reason !== "" && <p class="note">{said(d.reason)}</p>}
          {time.error && <p class="note bad pad-x">The order of time could not be asked: {visible(time.error.message)}</p>}
          {timeline && timeline.left > 0 && url["fv"] === "time" && <p class="note pad-x">The {MOST_ENTRIES} longest calls into a process are shown, {timeline.left} are not.</p>}
          {tree && <FlameGraph tree={tree} label="Flame graph of the whole trace" icicle={isTime} wholeWords="the trace" mayHideStart={true} server={{ path, query }} timeline={timeline} />}
          {isTime && (
            <p class="legend wf-legend pad-x">
              <PartLegend has={partsIn(d.profile)} />
            </p>
          )}
        </div>
      )}
    </AskedFrame>
  );
}
