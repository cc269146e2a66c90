import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Findings } from "../api/types";
import { useAsk } from "../api/use_ask";
import { said, visible } from "../format/safe_text";
import { count } from "../format/units";
import { AnswerCard, shortFact } from "../overview/answer_cards";
import { KIND_WORDS, ranked, reasonsOf, useFindings, type AllFindings, type Told } from "../overview/use_findings";
import { ViewLink } from "../parts/link";
import { ServiceMark } from "../parts/service_mark";
import { AskedFrame } from "../parts/states";
import { tellFindings } from "../shell/badges";
import { useHead } from "../state/head";
import { asked, type Range } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { dismiss, REASONS, reasonOf } from "./dismissed";

const SHOWN = 24;
const NAMED = 5;

function Cards(props: { told: readonly Told[]; checked: string }) {
  const [, turn] = useState(0);
  const [shown, setShown] = useState(SHOWN);
  const open = props.told.filter((f) => reasonOf(f) === undefined);
  const aside = props.told.filter((f) => reasonOf(f) !== undefined);
  const put = (f: Told, reason: string | undefined) => {
    dismiss(f, reason);
    turn((n) => n + 1);
  };
  return (
    <>
      {open.length === 0 && props.checked !== "" && <p class="state">{aside.length > 0 ? "All findings are dismissed." : `No findings. ${props.checked}`}</p>}
      <div class="answers many">
        {open.slice(0, shown).map((f) => (
          <AnswerCard key={`${f.service} ${f.kind} ${f.subject} ${f.path}`} finding={f} reasons={REASONS} onDismiss={(reason) => put(f, reason)} />
        ))}
      </div>
      {open.length > shown && (
        <p class="note">
          {shown} of {open.length} findings.{" "}
          <button type="button" class="btn s" onClick={() => setShown(shown + SHOWN)}>
            Show {Math.min(SHOWN, open.length - shown)} more
          </button>
        </p>
      )}
      {aside.length > 0 && (
        <section class="card pad" aria-label="Dismissed">
          <h2 role="status">{count(aside.length)} dismissed in this browser</h2>
          <ul class="dl">
            {aside.map((f) => (
              <li key={`${f.service} ${f.kind} ${f.subject}`} class="row">
                <ServiceMark name={f.service} />
                <bdi>{visible(shortFact(f))}</bdi>
                {reasonOf(f) !== "" && <span class="chip">{visible(reasonOf(f) ?? "")}</span>}
                <button type="button" class="btn s" aria-label={`Undo: ${visible(f.subject)}`} onClick={() => put(f, undefined)}>
                  Undo
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Facets(props: { all: readonly Told[] }) {
  const url = useUrl();
  const services = [...new Set(props.all.map((f) => f.service))].sort();
  const kinds = [...new Set(props.all.map((f) => f.kind))].sort();
  return (
    <div class="facets card pad" role="group" aria-label="Narrow by">
      {services.length > 1 && (
        <div class="facet">
          <span class="f3 sm">Service</span>
          {services.map((s) => (
            <button type="button" class="chip" key={s} onClick={() => change({ service: s })}>
              <ServiceMark name={s} /> <bdi class="name">{visible(s)}</bdi> <span class="f3">{props.all.filter((f) => f.service === s).length}</span>
            </button>
          ))}
        </div>
      )}
      {kinds.length > 1 && (
        <div class="facet">
          <span class="f3 sm">Kind</span>
          {kinds.map((k) => (
            <button type="button" class={url["kind"] === k ? "chip acc" : "chip"} aria-pressed={url["kind"] === k} key={k} onClick={() => change({ kind: url["kind"] === k ? "" : k })}>
              {KIND_WORDS[k] ?? k} <span class="f3">{props.all.filter((f) => f.kind === k).length}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const CHECKED = "Checked: self time of functions, repeated calls and parsing, locks, garbage collection and categories of work.";

function OfService(props: { service: string; range: Range }) {
  const q = { service: props.service, ...asked(props.range) };
  const found = useAsk<Findings>(JSON.stringify(q), (s) => get("/api/v1/findings", q, s));
  const told = useMemo(() => (found.data ? ranked({ services: [{ ...found.data, service: props.service }], left: 0 }) : []), [found.data]);
  return (
    <AskedFrame what="the findings" asked={found}>
      {(d) => (
        <>
          {d.reason !== "" && <p class="note">{said(d.reason)}</p>}
          {(d.note ?? "") !== "" && <p class="note">{said(d.note ?? "")}</p>}
          <Cards told={told} checked={d.reason === "" ? CHECKED : ""} />
          {(d.more ?? 0) > 0 && <p class="note">… and {d.more} more, smaller ones</p>}
        </>
      )}
    </AskedFrame>
  );
}

function failedOf(all: AllFindings): readonly { service: string; error: string }[] {
  return all.services.filter((s) => (s.error ?? "") !== "").map((s) => ({ service: s.service, error: s.error ?? "" }));
}

/** What costs most, across services: one cause a card, the largest first. */
export function FindingsView(props: { range: Range }) {
  const url = useUrl();
  const one = url["service"];
  const found = useFindings(props.range);
  const told = useMemo(() => ranked(found.data), [found.data]);
  useEffect(() => {
    if (one === undefined && found.data) tellFindings(told, true);
  }, [told, one]);
  useHead(one === undefined ? "Findings" : `Findings of ${visible(one)}`, one ?? "", one ?? "");
  const shown = url["kind"] === undefined ? told : told.filter((f) => f.kind === url["kind"]);
  if (one !== undefined)
    return (
      <section aria-labelledby="page-title">
        <div class="row">
          <ViewLink to={{ view: "findings" }} class="btn">
            All services
          </ViewLink>
          <ViewLink to={{ view: "profiles", service: one }} class="btn">
            Profiles
          </ViewLink>
        </div>
        <OfService service={one} range={props.range} />
      </section>
    );
  return (
    <section aria-labelledby="page-title">
      <AskedFrame what="the findings" asked={found} empty={(d) => (d.services.length === 0 ? <p>No services in this time range.</p> : undefined)}>
        {(d) => (
          <>
            {told.length > 1 && <Facets all={told} />}
            <Cards told={shown} checked={d.services.some((s) => (s.error ?? "") === "" && s.reason === "") ? CHECKED : ""} />
            {reasonsOf(d).map((r) => (
              <p key={r.services.join(" ")} class="note">
                {r.services.slice(0, NAMED).map(visible).join(", ")}
                {r.services.length > NAMED && ` and ${count(r.services.length - NAMED)} more`}: {said(r.reason)}
              </p>
            ))}
            {failedOf(d).map((f) => (
              <p key={f.service} class="note bad">
                {visible(f.service)}: {visible(f.error)}{" "}
                <ViewLink to={{ view: "findings", service: f.service }} class="link">
                  Load it separately
                </ViewLink>
              </p>
            ))}
            {d.left > 0 && <p class="note">The {count(d.services.length)} busiest services were looked at; {count(d.left)} were not.</p>}
          </>
        )}
      </AskedFrame>
    </section>
  );
}
