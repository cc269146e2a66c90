import { get } from "../api/client";
import type { Findings, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { percent, value } from "../format/units";
import { FirstOf } from "../parts/first_of";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { AskedFrame } from "../parts/states";
import { asked, type Range } from "../state/range";
import { useUrl } from "../state/use_url";

function OfService(props: { service: string; range: Range }) {
  const q = { service: props.service, ...asked(props.range) };
  const found = useAsk<Findings>(JSON.stringify(q), (s) => get("/api/v1/findings", q, s));
  return (
    <article class="card wide">
      <h2 class="row">
        <Name text={props.service} />
        <ViewLink to={{ view: "profiles", service: props.service }} class="small">profiles</ViewLink>
      </h2>
      <AskedFrame asked={found} empty={(d) => (d.findings.length === 0 ? <p>{visible(d.reason) || "Nothing stands out."}</p> : undefined)}>
        {(d) => (
          <>
          {d.reason !== "" && <p class="note">{visible(d.reason)}</p>}
          <ol class="findings">
            {d.findings.map((f, i) => (
              <li key={i}>
                <span class="share-bar" style={{ width: `${String(Math.round(f.share * 100))}px` }} />
                <b>{visible(f.sentence)}</b>
                <div class="faint">
                  {percent(f.share)}, {value(f.value, f.unit)}{" "}
                  <ViewLink to={{ view: "profiles", service: props.service, fs: f.subject }} class="small">show in the graph</ViewLink>
                </div>
              </li>
            ))}
          </ol>
          {(d.more ?? 0) > 0 && <p class="note">… and {d.more} more, smaller ones</p>}
          </>
        )}
      </AskedFrame>
    </article>
  );
}

export function FindingsView(props: { range: Range }) {
  const url = useUrl();
  const q = asked(props.range);
  const services = useAsk<Services>(JSON.stringify(q), (s) => get("/api/v1/services", q, s));
  const one = url["service"];
  return (
    <section aria-labelledby="findings-title">
      <h1 id="findings-title" class="row">
        What stands out {one !== undefined && <ViewLink to={{ view: "findings" }} class="small">all services</ViewLink>}
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
