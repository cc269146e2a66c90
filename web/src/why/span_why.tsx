// Why a span took as long: the sentence, the parts, and a graph of all of its time.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Explain, ExplainPart, Span, SpanProfile } from "../api/types";
import { useAsk } from "../api/use_ask";
import type { Base } from "../flame/base";
import { composed, type PartStacks } from "../flame/compose";
import { FlameGraph } from "../flame/flame_graph";
import { markdownCommand, markdownText, said, visible } from "../format/safe_text";
import { countOf, duration } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { BreakdownHelp } from "../parts/help";
import { ViewLink } from "../parts/link";
import { Segment } from "../parts/segment";
import { Empty, Failure, Progress, Skeleton, SlowWords } from "../parts/states";
import { fixedAddress } from "../shell/share_menu";
import { change, params } from "../state/url";
import { useUrl } from "../state/use_url";
import { inOrder as typesInOrder, SpanProfilePane, typeWords } from "../trace/span_profile";
import { BreakdownBar, BreakdownTable, inOrder, partsWords, share, time } from "./parts";
import { Sentence } from "./sentence";
import { useExplain } from "./use_explain";

export type GraphMode = "all" | "cpu" | "wait" | "type";

const PHONE = 640;
const WAITS = new Set(["run_queue", "lock", "disk", "net", "io", "sleep", "gc"]);
const keyOf = (p: ExplainPart) => (p.part === "on_cpu" ? "cpu" : p.part);

interface Stacks {
  readonly of: string;
  readonly parts: readonly PartStacks[];
  readonly types: readonly string[];
  readonly trust: string;
  readonly reason: string;
}

/** The stacks of each part that has some, a few at once. */
async function stacksOf(traceId: string, span: Span, parts: readonly ExplainPart[], signal: AbortSignal): Promise<Stacks> {
  const path = `/api/v1/spans/${traceId}/${span.spanId}/profile`;
  const todo = parts.map((part, at) => ({ part, at })).filter(({ part }) => part.profile !== null && part.profile !== undefined);
  const got = new Map<number, SpanProfile>();
  const work = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) got.set(next.at, (await get<SpanProfile>(path, { part: keyOf(next.part) }, signal)).data);
  };
  await Promise.all([work(), work()]);
  const first = [...got.values()][0];
  return { of: span.spanId, parts: parts.map((part, at) => ({ part, profile: got.get(at)?.profile })), types: first?.types ?? [], trust: first?.trust ?? "none", reason: first?.reason ?? "" };
}

function markdown(e: Explain, title: string): string {
  const rows = inOrder(e.parts).map((p) => `| ${markdownText(p.words)} | ${time(p)} | ${share(p, e.duration_ns)} |`);
  return [`**${markdownText(title)}**`, "", markdownText(e.sentence), "", "| part | time | share |", "|---|---|---|", ...rows, "", `${location.origin}${fixedAddress(params(), Date.now())}`, markdownCommand(e.evidence.command)].join("\n");
}

/** How sure it is that the samples behind an answer are of this span; "": there are none. */
export function matchOf(e: Explain): { words: string; isSure: boolean } {
  if (e.evidence.samples <= 0) return { words: "", isSure: true };
  if (e.parts.some((p) => p.estimate === true)) return { words: "estimate", isSure: false };
  return e.parts.some((p) => p.few_samples !== undefined) ? { words: "few samples", isSure: false } : { words: "known", isSure: true };
}

function Answer(props: { explain: Explain; span: Span; brief: boolean; chosen: string }) {
  const e = props.explain;
  const { span } = props;
  const match = matchOf(e);
  const like = `{ resource.service.name = ${JSON.stringify(span.service)} && name = ${JSON.stringify(span.name)} }`;
  return (
    <>
      <div class="why">
        <p class="says" data-answer title={props.brief ? visible(e.sentence) : undefined}>
          <Sentence text={e.sentence} parts={e.parts} />
        </p>
        {!props.brief && (
          <div class="meta">
            {match.words !== "" && (
              <span class={match.isSure ? "chip acc" : "chip warn"} title={match.isSure ? "The samples are known to belong to this span" : match.words === "estimate" ? "Some of the samples may belong to other spans" : "Too few samples for exact times"}>
                Match quality: {match.words}
              </span>
            )}
            {e.evidence.samples > 0 || e.reason.startsWith("thinned:") ? (
              <span>{e.evidence.samples > 0 ? countOf(e.evidence.samples, "sample") : "samples thinned"}</span>
            ) : (
              <ViewLink to={{ view: "coverage", service: span.service }} class="link">
                No samples: what is missing
              </ViewLink>
            )}
            <ViewLink to={{ view: "compare", q: like, split: "p95" }} class="link">
              Compare slow and fast ones
            </ViewLink>
            <ViewLink to={{ view: "search", q: like }} class="link">
              Spans like it
            </ViewLink>
            <CopyButton text={markdown(e, `${span.name} ${duration(span.durationNs)}`)} label="Copy as Markdown" />
            <BreakdownHelp />
          </div>
        )}
      </div>
      <div class="pane-bar">
        <BreakdownBar parts={e.parts} whole={e.duration_ns} isTall={!props.brief} />
      </div>
      {!props.brief && (
        <>
          <div class="lt-box">
            <BreakdownTable parts={e.parts} whole={e.duration_ns} chosen={props.chosen} onPart={(part) => change({ part, mode: "", type: "", gap: "", fz: "" })} />
          </div>
          {e.note !== "" && <p class="note pad-x">{said(e.note)}</p>}
          {e.reason !== "" && <p class="note pad-x">{said(e.reason)}</p>}
        </>
      )}
    </>
  );
}

function Graph(props: { traceId: string; traceNs: number; span: Span; explain: Explain; mode: GraphMode; chosen: string; onEnter: () => void; onDeep: () => void }) {
  const { traceId, span, explain, mode } = props;
  const url = useUrl();
  const asked = useAsk<Stacks>(`stacks ${traceId} ${span.spanId}`, async (s) => ({ data: await stacksOf(traceId, span, inOrder(explain.parts), s), partial: "" }), true);
  const data = asked.data?.of === span.spanId ? asked.data : undefined;
  const tree = useMemo(() => {
    if (!data) return undefined;
    const shown = data.parts.filter((p) => (props.chosen !== "" ? keyOf(p.part) === props.chosen : mode === "wait" ? WAITS.has(p.part.part) : true));
    return composed(shown, shown.some((p) => p.part.estimate === true));
  }, [data, mode, props.chosen]);
  const bases = useMemo((): Base[] => [
    { name: "duration", words: "the span's duration", value: explain.duration_ns, isMeasured: true },
    ...(props.traceNs > explain.duration_ns ? [{ name: "trace", words: "the trace's duration", value: props.traceNs, isMeasured: true }] : []),
  ], [explain, props.traceNs]);
  const hasWaits = explain.parts.some((p) => WAITS.has(p.part) && p.ns > 0);
  const path = `/api/v1/spans/${traceId}/${span.spanId}/profile`;
  const modes: (readonly [GraphMode, string])[] = [["all", "All time"], ["cpu", "CPU"], ...(hasWaits ? ([["wait", "Waiting"]] as const) : [])];
  const others = typesInOrder(data?.types ?? []).filter((t) => !t.includes(":cpu:"));
  const before = (
    <>
      <Segment label="Time shown" value={mode} of={modes} onChange={(m) => change({ mode: m === "all" ? "" : m, part: "", type: "", gap: "", fz: "" })} />
      {others.length > 0 && (
        <select aria-label="Other profiles" class="types" value={mode === "type" ? (url["type"] ?? "") : ""} onChange={(e) => change({ type: e.currentTarget.value, part: "", gap: "", fz: "" })}>
          <option value="">other</option>
          {others.map((t) => (
            <option key={t} value={t}>
              {typeWords(t)}
            </option>
          ))}
        </select>
      )}
    </>
  );
  if (mode === "cpu" || mode === "type") return <SpanProfilePane traceId={traceId} span={span} before={before} onEnter={props.onEnter} onDeep={props.onDeep} />;
  if (asked.error) return <Failure what="the flame graph" sentence={asked.error.message} status={asked.error.status} retryAfterS={asked.error.retryAfterS} again={asked.again} />;
  if (!tree) return <div class="state loading"><Skeleton /><SlowWords asked={asked} /></div>;
  if ((tree.total[0] ?? 0) <= 0) return <Empty><p>{explain.reason.startsWith("thinned:") ? "The samples of this span were removed." : "No waiting time of this span was recorded."}</p></Empty>;
  const query = props.chosen === "" ? undefined : { part: props.chosen };
  return (
    <>
      {props.chosen !== "" && (
        <p class="note row pad-x" role="note">
          Only the selected part.
          <button type="button" class="btn s" onClick={() => change({ part: "", fz: "" })}>
            All of it
          </button>
        </p>
      )}
      <FlameGraph
        tree={tree}
        label={`All time of ${visible(span.name)}: ${partsWords(inOrder(explain.parts), explain.duration_ns)}`}
        service={span.service}
        before={before}
        icicle={true}
        mayHideStart={true}
        wholeWords="what is shown"
        bases={bases}
        onEnter={props.onEnter}
        onDeep={props.onDeep}
        {...(query ? { server: { path, query } } : {})}
      />
    </>
  );
}

export function SpanWhy(props: { traceId: string; traceNs: number; span: Span }) {
  const { traceId, span } = props;
  const url = useUrl();
  const explain = useExplain({ trace: traceId, span: span.spanId, focus: url["focus"] });
  const e = explain.data;
  const part = url["part"] ?? "";
  const mode: GraphMode = url["type"] !== undefined ? "type" : url["mode"] === "cpu" || url["gap"] !== undefined || url["self"] !== undefined ? "cpu" : url["mode"] === "wait" ? "wait" : "all";
  // A stack deeper than its room folds the answer to a sentence and the bar, unless somebody said otherwise.
  const here = `${span.spanId} ${mode} ${part} ${url["type"] ?? ""}`;
  const [deep, setDeep] = useState("");
  // Samples of one type are queried for to see the graph.
  const mayFold = deep === here || (mode !== "all" && mode !== "wait" && innerWidth > PHONE);
  const isBrief = url["brief"] === "1" || (url["brief"] !== "0" && mayFold);
  const onDeep = useCallback(() => {
    if (innerWidth > PHONE) setDeep(here);
  }, [here]);
  const turn = useRef<() => void>(() => undefined);
  turn.current = () => change({ brief: isBrief ? (mayFold ? "0" : "") : "1" }, true);
  const enter = useCallback(() => change({ brief: "1" }, true), []);
  useEffect(() => {
    const onKey = (k: KeyboardEvent) => {
      if (k.key !== "f" || k.ctrlKey || k.metaKey || k.altKey || (k.target instanceof Element && k.target.closest("input,textarea,select,dialog"))) return;
      turn.current();
      k.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class={isBrief ? "span-why brief" : "span-why"}>
      <Progress isLoading={explain.isLoading} />
      {explain.error && <Failure what="the explanation" sentence={explain.error.message} status={explain.error.status} retryAfterS={explain.error.retryAfterS} again={explain.again} />}
      {!e && !explain.error && (
        <div class="why" aria-busy="true">
          <p class="says f3">{duration(span.durationNs)}: {explain.isSlow ? "still working…" : "…"}</p>
        </div>
      )}
      {e && <Answer explain={e} span={span} brief={isBrief} chosen={part} />}
      {e && (
        <button type="button" class="fold-answer" aria-expanded={!isBrief} aria-label={isBrief ? "Expand the answer" : "Fold the answer"} title={isBrief ? "Expand the answer (f)" : "Collapse the answer to enlarge the graph (f)"} onClick={() => turn.current()}>
          {isBrief ? "▾" : "▴"}
        </button>
      )}
      {e && <Graph traceId={traceId} traceNs={props.traceNs} span={span} explain={e} mode={mode} chosen={part} onEnter={enter} onDeep={onDeep} />}
      {explain.error && <SpanProfilePane traceId={traceId} span={span} />}
    </div>
  );
}
