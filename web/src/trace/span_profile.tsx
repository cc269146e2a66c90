// The flame graph of one span, beside the waterfall: no question is asked first.

import { Fragment, type ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Coverage, GradeName, Known, Profile, Span, SpanProfile } from "../api/types";
import { useAsk } from "../api/use_ask";
import type { Base } from "../flame/base";
import { FlameGraph } from "../flame/flame_graph";
import { profileWithin, treeOf } from "../flame/tree";
import { said, visible } from "../format/safe_text";
import { amount, count, countOf, duration, ESTIMATE, measureOf, percent } from "../format/units";
import { Help } from "../parts/help";
import { ViewLink } from "../parts/link";
import { AskedFrame, Empty } from "../parts/states";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { ThinnedMark } from "./keep_marks";

const GRADES: readonly (readonly [GradeName, string])[] = [
  ["exact", "samples that name this very span"],
  ["subtree", "samples that name a span below it"],
  ["inherited", "samples that carry the id of the request's first span in this process, taken while this span ran"],
  ["shared", "samples that carry only the request's id, divided among its spans by time"],
  ["window", "samples of the process during the span that carry no request id: an estimate"],
];

/** What these say of a span is never known, unless no other can have it. */
const ESTIMATES: readonly GradeName[] = ["shared", "window"];

/** "process_cpu:cpu:nanoseconds:…" as people say it. */
export function typeWords(type: string): string {
  const [, sample = type, unit = ""] = type.split(":");
  const units: Readonly<Record<string, string>> = { nanoseconds: "time", bytes: "bytes", count: "count" };
  const words: Readonly<Record<string, string>> = { cpu: "CPU", wall: "wall clock", inuse_space: "heap in use", alloc_space: "allocated", alloc_objects: "allocations", inuse_objects: "live objects", delay: "lock", contentions: "contentions", off_cpu: "off CPU" };
  return `${words[sample] ?? sample}${units[unit] && sample !== "inuse_space" ? ` (${units[unit]})` : ""}`;
}

/** CPU first, the rest as the server lists it. */
export function inOrder(types: readonly string[]): string[] {
  const rank = (t: string) => (t.includes(":cpu:") ? 0 : t.includes(":wall:") ? 1 : 2);
  return [...types].sort((a, b) => rank(a) - rank(b));
}

/** Samples of a grade: a record may represent several. */
export function gradeSamples(p: Pick<SpanProfile, "samples" | "looks" | "grades">, g: GradeName): number {
  const whole = GRADES.reduce((n, [k]) => n + p.grades[k].value, 0);
  if ((p.looks ?? 0) <= p.samples || whole <= 0) return p.grades[g].samples;
  return Math.round(((p.looks ?? 0) * p.grades[g].value) / whole);
}

function Grades(props: { p: SpanProfile }) {
  const { p } = props;
  return (
    <div class="matched pad-x" role="note" aria-label="Match quality: how samples were assigned to this span">
      {p.isEstimate === true ? (
        <span class="trust none" title="Samples shared with other spans: no intervals and no conclusions are derived from them">
          {ESTIMATE} estimate
        </span>
      ) : (
        <span class={`trust ${p.trust}`} title="few samples: under 30, fair: under 400, good: 400 or more">
          {p.trust === "thin" ? "few samples" : p.trust}
        </span>
      )}{" "}
      <b>{p.isEstimate === true && ESTIMATE}{count(Math.max(p.samples, Math.round(p.looks ?? 0)))}</b> samples
      {p.mostSamples > 0 && p.mostSamples >= (p.looks ?? 0) && <span class="faint"> of about {count(p.mostSamples)} expected{(p.threads ?? 1) > 1 ? ` on ${p.areThreadsNamed === false ? "at least " : ""}${String(p.threads)} threads` : ""}</span>}
      {GRADES.filter(([g]) => p.grades[g].samples > 0).map(([g, words]) => (
        <span key={g} class="tag" title={words}>
          {g} {count(gradeSamples(p, g))}
          {p.profile.isFew !== true && ` · ${amount(p.grades[g].value, { ...measureOf(p.profile), isEstimate: p.isEstimate === true && ESTIMATES.includes(g) })}`}
        </span>
      ))}
      {p.top && p.top.function !== "" && (
        <span class="faint top-share" title="95 % interval of the share of the largest function">
          {visible(p.top.function)} is {percent(p.top.shareLow)} to {percent(p.top.shareHigh)}
          {p.isEstimate === true && " of what is known"}
        </span>
      )}
      <Help of="match quality">
        <p>How samples were assigned to this span:</p>
        <dl class="facts">
          {GRADES.map(([g, words]) => (
            <Fragment key={g}>
              <dt>{g}</dt>
              <dd>{words}</dd>
            </Fragment>
          ))}
        </dl>
        <p>The first three are known to belong to the span. Figures of the others are marked ~, and no conclusions are drawn from them.</p>
      </Help>
    </div>
  );
}

/** The smallest thing of which all of it is known. */
function KnownOf(props: { traceId: string; known: Known | undefined }) {
  const of = props.known?.of;
  if (!of) return null;
  if (of.spanId !== undefined)
    return (
      <p class="note known">
        <ViewLink to={{ view: "trace", id: props.traceId, span: of.spanId, pane: "why" }}>Show {visible(of.name ?? "")} with its children, which is known</ViewLink>
      </p>
    );
  const ms = (ns: string | undefined) => String(Math.floor(Number(ns ?? "0") / 1e6));
  return (
    <p class="note known">
      <ViewLink to={{ view: "profiles", service: of.service, from: ms(of.fromUnixNano), until: ms(of.untilUnixNano) }}>Show the profile of {visible(of.service)} in this time, which is known</ViewLink>
    </p>
  );
}

/** What is missing, and what to add, for a span that could have more. */
function More(props: { traceId: string; span: Span }) {
  const path = `/api/v1/spans/${props.traceId}/${props.span.spanId}/coverage`;
  const [open, setOpen] = useState(false);
  const coverage = useAsk<Coverage>(open ? path : "", (s) => get(path, {}, s), true);
  return (
    <details class="note pad-x" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>How to get more samples here</summary>
      {coverage.isLoading && <p>…</p>}
      {coverage.error && <p class="bad">{visible(coverage.error.message)}</p>}
      {coverage.data?.missing.length === 0 && <p>The setup is complete as far as the server can see; this span just has few samples.</p>}
      {coverage.data?.missing.map((m) => (
        <div key={m.kind} class="missing">
          <b>{said(m.sentence)}</b>
          {m.lines.length > 0 && <pre>{m.lines.map(visible).join("\n")}</pre>}
        </div>
      ))}
    </details>
  );
}

/** "12000-90000": a time range of the span, in nanoseconds after its start. */
export function stretchOf(text: string | undefined): { from: number; until: number } | undefined {
  const m = /^(\d{1,18})-(\d{1,18})$/.exec(text ?? "");
  return m && Number(m[1]) < Number(m[2]) ? { from: Number(m[1]), until: Number(m[2]) } : undefined;
}

/** What the address narrows the profile to, and the way back. */
function Narrowed(props: { p: SpanProfile; gap: { from: number; until: number } | undefined; inGap: Profile | undefined }) {
  const { p, gap, inGap } = props;
  if (gap)
    return (
      <p class="note row" role="note">
        <span>
          From {duration(gap.from)} to {duration(gap.until)} of the span no child span ran.{" "}
          {inGap && inGap.samples > 0
            ? `The graph shows its ${countOf(inGap.samples, "sample")} in these ${duration(gap.until - gap.from)}.`
            : (p.timeline ?? []).length === 0
              ? "Its samples have no timestamps; showing the whole span."
              : "No samples of this type in this gap; showing the whole span."}
        </span>
        <button type="button" onClick={() => change({ gap: "", self: "", fz: "" })}>
          The whole span
        </button>
      </p>
    );
  return null;
}

function Tabs(props: { p: SpanProfile; isSelf: boolean; total: number }) {
  const { p, isSelf } = props;
  return (
    <div class="row pad-x">
      <span class="f2">{typeWords(p.profile.type)}</span>
      <span class="seg" role="group" aria-label="Children">
        <button type="button" aria-pressed={!isSelf} onClick={() => change({ self: "", gap: "", fz: "" })}>
          With children
        </button>
        <button type="button" aria-pressed={isSelf} onClick={() => change({ self: "1", fz: "" })}>
          Self
        </button>
      </span>
      <b>
        {amount(props.total, measureOf(p.profile))}
      </b>
    </div>
  );
}

/** Samples of one type, of a span alone or with its children. */
export function SpanProfilePane(props: { traceId: string; span: Span; before?: ComponentChildren; onEnter?: () => void; onDeep?: () => void }) {
  const url = useUrl();
  const { traceId, span } = props;
  const isSelf = url["self"] === "1";
  const path = `/api/v1/spans/${traceId}/${span.spanId}/profile`;
  const query = { type: url["type"], self: isSelf ? "true" : undefined };
  const asked = useAsk<SpanProfile>(`${path} ${JSON.stringify(query)}`, (s) => get(path, { ...query, timeline: "true" }, s));
  const data = asked.data?.spanId === span.spanId ? asked.data : undefined;
  const gap = useMemo(() => stretchOf(url["gap"]), [url["gap"]]);
  const inGap = useMemo(() => (data && gap ? profileWithin(data.profile, data.timeline ?? [], gap.from, gap.until) : undefined), [data, gap]);
  const profile = inGap && inGap.samples > 0 ? inGap : data?.profile;
  const tree = useMemo(() => (profile ? treeOf(profile) : undefined), [profile]);
  const timeline = useMemo(() => {
    if (!profile || (data?.timeline ?? []).length === 0) return undefined;
    return { profile, wholeNs: data?.durationNs ?? 0, moments: (data?.timeline ?? []).filter(([start]) => profile !== inGap || !gap || (start >= gap.from && start < gap.until)) };
  }, [profile, data]);
  const total = tree?.total[0] ?? 0;
  // Shares are of the span's duration, unless there are too few samples to say any time.
  const isTime = data?.profile.unit === "nanoseconds" && data.profile.isFew !== true;
  const bases = useMemo((): Base[] => {
    if (!data) return [];
    const own = { name: "cpu", words: `the span's ${typeWords(data.profile.type)}`, value: data.profile.total };
    return isTime ? [{ name: "duration", words: "the span's duration", value: data.durationNs, isMeasured: true }, own] : [own];
  }, [data, isTime]);
  return (
    <div class="span-profile">
      <AskedFrame what="the profile" asked={{ ...asked, data }}>
        {(p) => (
          <>
            <div class="span-tabs">
              <Tabs p={p} isSelf={isSelf} total={total} />
              <Grades p={p} />
            </div>
            {p.keep?.state === "thinned" && (
              <p class="pad-x">
                <ThinnedMark keep={p.keep} />
              </p>
            )}
            <Narrowed p={p} gap={gap} inGap={inGap} />
            {p.reason !== "" && total > 0 && (
              <p class="note few-note pad-x">
                {said(p.reason)}{" "}
                <ViewLink to={{ view: "compare", q: `{ resource.service.name = ${JSON.stringify(span.service)} && name = ${JSON.stringify(span.name)} }`, split: "all" }} class="link">
                  All spans like it, in one graph
                </ViewLink>
              </p>
            )}
            <KnownOf traceId={traceId} known={p.known} />
            {p.keep?.state !== "thinned" && (p.trust === "none" || p.trust === "thin" || p.isEstimate === true) && <More traceId={traceId} span={span} />}
            {p.isPartial && <p class="note warn">This answer was truncated by a limit.</p>}
            {tree && total > 0 ? (
              <FlameGraph
                tree={tree}
                {...(props.before === undefined ? {} : { before: props.before })}
                {...(props.onEnter ? { onEnter: props.onEnter } : {})}
                {...(props.onDeep ? { onDeep: props.onDeep } : {})}
                mayHideStart={true}
                wholeWords={`the span's ${typeWords(p.profile.type)}`}
                label={`Flame graph of ${visible(span.name)}`}
                server={{ path, query }}
                timeline={timeline}
                service={span.service}
                bases={bases}
              />
            ) : (
              <>
              <div class="flame-bar">{props.before}</div>
              <Empty>
                <p>{p.keep?.state === "thinned" ? "The samples of this span were removed." : "This span has no profile."}</p>
                <p class="note">{p.reason === "" ? `It took ${duration(p.durationNs)}; no sample was taken during it.` : said(p.reason)}</p>
              </Empty>
              </>
            )}
          </>
        )}
      </AskedFrame>
    </div>
  );
}
