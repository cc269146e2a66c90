// How well traces and profiles are linked, and what to add where they are not.

import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Coverage, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { useLive } from "../api/use_live";
import { said, visible } from "../format/safe_text";
import { count, countOf, duration, percent } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { CoverageHelp } from "../parts/help";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { AskedFrame } from "../parts/states";
import { useHead } from "../state/head";
import { asked, DEFAULT_UNTIL, type Range } from "../state/range";
import { useUrl } from "../state/use_url";
import { typeWords } from "../trace/span_profile";

function Share(props: { words: string; share: number | undefined; hint: string }) {
  if (props.share === undefined) return null;
  return (
    <>
      <dt>{props.words}</dt>
      <dd>
        {percent(props.share)} <span class="f3 sm">{props.hint}</span>
      </dd>
    </>
  );
}

const LIVE_MS = 5000;

function OfService(props: { service: string; range: Range }) {
  const q = { service: props.service, ...asked(props.range) };
  const answer = useAsk<Coverage>(JSON.stringify(q), (s) => get("/api/v1/coverage", q, s));
  // Whoever follows the instructions sees here that the data arrives. A range that ends earlier does not change any more.
  const url = useUrl();
  const missed = answer.data?.missing.map((m) => m.kind) ?? [];
  const isOpen = missed.length > 0 && (url["until"] ?? DEFAULT_UNTIL) === DEFAULT_UNTIL;
  const live = useLive<Coverage>(
    isOpen ? `live ${JSON.stringify(q)}` : "",
    LIVE_MS,
    async (s) => (await get<Coverage>("/api/v1/coverage", { ...q, until: String(Date.now()) }, s)).data,
    (c) => c.missing.length === 0,
  );
  const hasArrived = (kind: string) => live?.missing.every((m) => m.kind !== kind) === true;
  return (
    <article class="card pad">
      <h2 class="row">
        <Name text={props.service} />
        {answer.data && answer.data.language !== "" && <span class="tag">{visible(answer.data.language)}</span>}
        {answer.data?.missing.length === 0 && <span class="good">nothing is missing</span>}
      </h2>
      <AskedFrame what="the coverage" asked={answer}>
        {(c) => (
          <>
            {c.missing.map((m) => (
              <div key={m.kind} class="missing">
                <p>
                  {hasArrived(m.kind) && <span class="chip good" role="status">Arriving</span>} <b>{said(m.sentence)}</b>
                </p>
                {m.kind === "low_rate" ? (
                  <ViewLink to={{ view: "compare", q: `{ resource.service.name = ${JSON.stringify(props.service)} }`, split: "all" }} class="btn s">
                    All of its spans in one graph
                  </ViewLink>
                ) : m.lines.length > 0 && (
                  <div class="code-box">
                    <CopyButton text={m.lines.join("\n")} />
                    <pre>
                      <code>{m.lines.map(visible).join("\n")}</code>
                    </pre>
                  </div>
                )}
              </div>
            ))}
            {c.link?.thinned !== undefined && <p class="note warn">{visible(c.link.thinned)}.</p>}
            {(c.link?.note ?? "") !== "" && <p class="note warn">{said(c.link?.note ?? "")}</p>}
            <dl class="facts wide">
              <dt>spans</dt>
              <dd>{count(c.spans)}</dd>
              {c.types.map((t) => (
                <Type key={t.type} t={t} />
              ))}
              {c.link && c.link.expectedSamples > 0 && (
                <Share words="samples received" share={Math.min(1, c.link.receivedSamples / c.link.expectedSamples)} hint={samplesHint(c.link)} />
              )}
              {c.link?.knownSamples !== undefined && c.link.receivedSamples > 0 && (
                <Share words="samples known to belong to their span" share={Math.min(1, c.link.knownSamples / c.link.receivedSamples)} hint={`${count(c.link.knownSamples)} of ${count(c.link.receivedSamples)}; the rest are estimates`} />
              )}
              {c.link && c.link.spans > (c.link.thinnedSpans ?? 0) && <Share words="spans with samples" share={c.link.sampledSpans / (c.link.spans - (c.link.thinnedSpans ?? 0))} hint={`${count(c.link.sampledSpans)} of ${countOf(c.link.spans - (c.link.thinnedSpans ?? 0), "span")} checked`} />}
              <Share words="samples that name a span" share={c.link?.taggedShare} hint="of the newest five minutes" />
              <Share words="samples with names" share={c.link?.symbolisedShare} hint="of the newest five minutes" />
              {c.skew.map((s) => (
                <Skew key={s.caller} s={s} />
              ))}
            </dl>
            {(c.notes ?? []).map((n) => (
              <p key={n.kind} class="note">
                {said(n.sentence)}
              </p>
            ))}
          </>
        )}
      </AskedFrame>
    </article>
  );
}


function Type(props: { t: Coverage["types"][number] }) {
  const { t } = props;
  return (
    <>
      <dt title={t.type}>{typeWords(t.type)}</dt>
      <dd>
        {countOf(t.profiles, "profile")}, {countOf(t.samples, "sample")}{t.rateHz > 0 ? `, ${count(t.rateHz)} per second` : ""}
        {t.spacingNs > 0 ? `, one every ${duration(t.spacingNs)}` : ""}
        {t.gapNs > 0 && <span class="bad"> · {duration(t.gapNs)} without any</span>}
      </dd>
    </>
  );
}

function Skew(props: { s: Coverage["skew"][number] }) {
  return (
    <>
      <dt>clock</dt>
      <dd class="bad">
        {duration(Math.abs(props.s.offsetNs))} {props.s.offsetNs > 0 ? "ahead of" : "behind"} <Name text={props.s.caller} />
      </dd>
    </>
  );
}

type State = "full" | "half" | "none";

/** Filled, half or empty, and why in words. */
function Cell(props: { state: State; words: string }) {
  return (
    <span class={`fill-mark ${props.state}`} role="img" aria-label={props.words} title={props.words}>
      {props.state === "full" ? "●" : props.state === "half" ? "◐" : "○"}
    </span>
  );
}

function stateOf(c: Coverage, is: (type: string) => boolean): { state: State; words: string } {
  const types = c.types.filter((t) => is(t.type));
  if (types.length === 0) return { state: "none", words: "none arrived" };
  const gap = types.reduce((n, t) => n + t.gapNs, 0);
  const words = types.map((t) => `${typeWords(t.type)}: ${countOf(t.samples, "sample")}`).join(", ");
  return gap > 0 ? { state: "half", words: `${words}; ${duration(gap)} without any` } : { state: "full", words };
}

/** What came is never more than what is stated to be possible: spans that run on several threads have more than one thread could. */
export function samplesHint(link: NonNullable<Coverage["link"]>): string {
  const came = count(link.receivedSamples);
  return link.receivedSamples > link.expectedSamples ? `${came}, on several threads at once` : `${came} of about ${count(link.expectedSamples)} expected for ${countOf(link.spans, "span")} on one thread each`;
}

function quality(c: Coverage): { state: State; words: string } {
  const { link } = c;
  if (!link || link.receivedSamples <= 0) return { state: "none", words: "no samples are joined to spans" };
  const share = (link.knownSamples ?? 0) / link.receivedSamples;
  const words = `${percent(Math.min(1, share))} of the samples are assigned to their span with certainty`;
  return { state: share >= 0.9 ? "full" : share > 0 ? "half" : "none", words };
}

function Row(props: { service: string; spans: number; range: Range; isChosen: boolean }) {
  const q = { service: props.service, ...asked(props.range) };
  const answer = useAsk<Coverage>(JSON.stringify(q), (s) => get("/api/v1/coverage", q, s));
  const c = answer.data;
  const first = c?.missing[0];
  const cells = c && [stateOf(c, (t) => t.includes(":cpu:")), stateOf(c, (t) => /:(wall|off_cpu|delay|contentions|block|mutex|lock)/.test(t)), stateOf(c, (t) => /space|objects|alloc/.test(t)), quality(c)];
  const absent = ["CPU", "waiting", "memory"].filter((_, i) => cells?.[i]?.state === "none");
  return (
    <tr aria-selected={props.isChosen}>
      <td>
        <ViewLink to={{ view: "coverage", service: props.service }} class="service">
          <ServiceMark name={props.service} />
          <Name text={props.service} />
        </ViewLink>
      </td>
      <td class="number">{count(c?.spans ?? props.spans)}</td>
      {cells ? cells.map((x, i) => <td key={i} class="mark"><Cell {...x} /></td>) : <td colSpan={4} class="f3">{answer.error ? <span class="bad">failed: {visible(answer.error.message)}</span> : "…"}</td>}
      <td class="wide">
        {first ? (
          <span class="says two" title={c.missing.map((m) => said(m.sentence)).join("\n")}>
            {said(first.sentence)}
            {c.missing.length > 1 && <span class="f3"> and {c.missing.length - 1} more</span>}
          </span>
        ) : (
          c && <span class="good">{absent.length === 0 ? "nothing is missing" : `joined; no profiles of ${absent.join(" or ")} arrive`}</span>
        )}
      </td>
      <td>
        {first && (
          <ViewLink to={{ view: "coverage", service: props.service }} class="btn s" label={`How to fix ${visible(props.service)}`}>
            How
          </ViewLink>
        )}
      </td>
    </tr>
  );
}

const ROWS = 30;

/** One table of what arrives of each service and what is missing; the chosen one with the lines that fix it. */
export function CoverageView(props: { range: Range }) {
  const url = useUrl();
  const q = asked(props.range);
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const one = url["service"];
  const [shown, setShown] = useState(ROWS);
  useHead(one === undefined ? "Coverage" : `Coverage of ${visible(one)}`, one ?? "", one ?? "");
  return (
    <section aria-labelledby="page-title">
      {one !== undefined && <OfService service={one} range={props.range} />}
      <AskedFrame what="the services" asked={services} empty={(d) => (d.services.length === 0 ? <p>No services in this time range.</p> : undefined)}>
        {(d) => (
          <div class="card">
            <div class="toolbar">
              <h2>How well traces and profiles are linked</h2>
              <CoverageHelp />
              <span class="f3">{countOf(d.services.length, "service")}</span>
              <span class="spring" />
              <span class="f3 sm">● arrives · ◐ in part · ○ does not</span>
            </div>
            <div class="table-scroll">
              <table aria-label="Coverage of services">
                <thead>
                  <tr>
                    <th>Service</th>
                    <th class="number">Spans</th>
                    <th>CPU</th>
                    <th>Waiting</th>
                    <th>Memory</th>
                    <th title="Whether samples are assigned to their span with certainty">Match quality</th>
                    <th>Missing</th>
                    <th />
                  </tr>
                </thead>
                <tbody>
                  {d.services.slice(0, shown).map((s) => (
                    <Row key={s.service} service={s.service} spans={s.spans} range={props.range} isChosen={s.service === one} />
                  ))}
                </tbody>
              </table>
            </div>
            {d.services.length > shown && (
              <p class="note pad">
                {shown} of {d.services.length} services.{" "}
                <button type="button" class="btn s" onClick={() => setShown(shown + ROWS)}>
                  Show {Math.min(ROWS, d.services.length - shown)} more
                </button>
              </p>
            )}
          </div>
        )}
      </AskedFrame>
    </section>
  );
}
