// How well traces and profiles are joined, and what to add where they are not.

import { get } from "../api/client";
import type { Coverage, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { count, duration, percent } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { FirstOf } from "../parts/first_of";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { AskedFrame } from "../parts/states";
import { asked, type Range } from "../state/range";
import { useUrl } from "../state/use_url";
import { typeWords } from "../trace/span_profile";

function Share(props: { words: string; share: number | undefined; hint: string }) {
  if (props.share === undefined) return null;
  return (
    <>
      <dt title={props.hint}>{props.words}</dt>
      <dd>
        <meter min={0} max={1} low={0.5} high={0.9} optimum={1} value={props.share} aria-label={props.words} /> {percent(props.share)}
      </dd>
    </>
  );
}

function OfService(props: { service: string; range: Range }) {
  const q = { service: props.service, ...asked(props.range) };
  const answer = useAsk<Coverage>(JSON.stringify(q), (s) => get("/api/v1/coverage", q, s));
  return (
    <article class="card wide">
      <h2 class="row">
        <Name text={props.service} />
        {answer.data && answer.data.language !== "" && <span class="tag">{visible(answer.data.language)}</span>}
        {answer.data?.missing.length === 0 && <span class="good">nothing is missing</span>}
      </h2>
      <AskedFrame asked={answer}>
        {(c) => (
          <>
            {c.missing.map((m) => (
              <div key={m.kind} class="missing">
                <p>
                  <b>{visible(m.sentence)}</b>
                </p>
                {m.lines.length > 0 && (
                  <div class="code-box">
                    <CopyButton text={m.lines.join("\n")} />
                    <pre>
                      <code>{m.lines.map(visible).join("\n")}</code>
                    </pre>
                  </div>
                )}
              </div>
            ))}
            <dl class="facts wide">
              <dt>spans</dt>
              <dd>{count(c.spans)}</dd>
              {c.types.map((t) => (
                <Type key={t.type} t={t} />
              ))}
              {c.link && c.link.expectedSamples > 0 && (
                <Share words="samples received" share={Math.min(1, c.link.receivedSamples / c.link.expectedSamples)} hint={`${count(c.link.receivedSamples)} of ${count(c.link.expectedSamples)} that ${count(c.link.spans)} spans could have had`} />
              )}
              {c.link?.knownSamples !== undefined && c.link.receivedSamples > 0 && (
                <Share words="samples known to be of their span" share={Math.min(1, c.link.knownSamples / c.link.receivedSamples)} hint={`${count(c.link.knownSamples)} of ${count(c.link.receivedSamples)}; the rest are estimates`} />
              )}
              {c.link && c.link.spans > 0 && <Share words="spans with samples" share={c.link.sampledSpans / c.link.spans} hint={`${count(c.link.sampledSpans)} of ${count(c.link.spans)} spans checked`} />}
              <Share words="samples that name a span" share={c.link?.taggedShare} hint="of the newest five minutes" />
              <Share words="samples with names" share={c.link?.symbolisedShare} hint="of the newest five minutes" />
              {c.skew.map((s) => (
                <Skew key={s.caller} s={s} />
              ))}
            </dl>
            {(c.notes ?? []).map((n) => (
              <p key={n.kind} class="note">
                {visible(n.sentence)}
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
        {count(t.profiles)} profiles, {count(t.samples)} samples{t.rateHz > 0 ? `, ${count(t.rateHz)} a second` : ""}
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

export function CoverageView(props: { range: Range }) {
  const url = useUrl();
  const q = asked(props.range);
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const one = url["service"];
  return (
    <section aria-labelledby="coverage-title">
      <h1 id="coverage-title" class="row">
        Coverage: how well traces and profiles are joined
        {one !== undefined && (
          <ViewLink to={{ view: "coverage" }} class="small">
            all services
          </ViewLink>
        )}
      </h1>
      {one !== undefined ? (
        <OfService service={one} range={props.range} />
      ) : (
        <AskedFrame asked={services} empty={(d) => (d.services.length === 0 ? <p>No services in this time range.</p> : undefined)}>
          {(d) => (
            <FirstOf rows={d.services} max={30} things="services">
              {(s) => <OfService key={s.service} service={s.service} range={props.range} />}
            </FirstOf>
          )}
        </AskedFrame>
      )}
    </section>
  );
}
