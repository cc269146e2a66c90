import { useState } from "preact/hooks";
import type { Attribute, Span, Trace } from "../api/types";
import { visible } from "../format/safe_text";
import { duration, moment, nanoToMs } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { ViewLink } from "../parts/link";
import { logsAddress } from "../state/links";
import { setSetting, setting } from "../state/settings";
import { plain } from "./rows";

/** A value as TraceQL writes it. */
export function literal(a: Attribute): string {
  const v = a.value;
  if (v.intValue !== undefined || v.doubleValue !== undefined || v.boolValue !== undefined) return plain(v);
  return JSON.stringify(plain(v));
}

/** An attribute's key as TraceQL writes it. */
export function keyText(scope: string, key: string): string {
  return /^[A-Za-z_][\w.\-/]*$/.test(key) ? `${scope}.${key}` : `${scope}.${JSON.stringify(key)}`;
}

function Attributes(props: { title: string; scope: string; list: readonly Attribute[] }) {
  if (props.list.length === 0) return null;
  return (
    <>
      <h3>{props.title}</h3>
      <table class="attributes">
        <tbody>
          {props.list.map((a, i) => (
            <tr key={i}>
              <th scope="row">
                <bdi>{visible(a.key)}</bdi>
              </th>
              <td class="wrap">
                <bdi>{visible(plain(a.value))}</bdi>
              </td>
              <td class="do">
                <CopyButton text={plain(a.value)} />
                {props.scope !== "" && (
                  <ViewLink to={{ view: "search", q: `{ ${keyText(props.scope, a.key)} = ${literal(a)} }` }} title="Search for spans with this" class="small">
                    filter by this
                  </ViewLink>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** The logs of a span, by the server's template or one of this browser. */
function Logs(props: { trace: Trace; span: Span }) {
  const [template, setTemplate] = useState(setting("logTemplate"));
  const [editing, setEditing] = useState(false);
  const href = logsAddress(props.trace, props.span);
  const ok = href !== "";
  return (
    <p class="row">
      {ok && (
        <a href={href} target="_blank" rel="noopener noreferrer">
          Logs of this span
        </a>
      )}
      <button type="button" class="small" onClick={() => setEditing(!editing)}>
        {ok ? "Change the link" : "Link to your logs…"}
      </button>
      {editing && (
        <label class="grow">
          Template with {"{traceId} {spanId} {service} {start} {end}"}
          <input
            value={template}
            placeholder="https://logs.example/search?q={traceId}&from={start}&to={end}"
            onInput={(e) => {
              setTemplate(e.currentTarget.value);
              setSetting("logTemplate", e.currentTarget.value);
            }}
          />
        </label>
      )}
    </p>
  );
}

export function SpanDetails(props: { trace: Trace; span: Span }) {
  const { trace, span } = props;
  const resource = trace.resources[span.resource];
  const scope = trace.scopes[span.scope];
  return (
    <div class="span-details">
      <dl class="facts">
        <dt>started</dt>
        <dd>{moment(nanoToMs(span.startTimeUnixNano))} <span class="faint">(+{duration(span.startOffsetNs)}{span.clockShiftNs === undefined ? "" : ", clock corrected"})</span></dd>
        <dt>duration</dt>
        <dd>{duration(span.durationNs)} <span class="faint">{duration(span.criticalNs)} of it on the critical path</span></dd>
        <dt>kind</dt>
        <dd>{span.kind.replace("SPAN_KIND_", "").toLowerCase()}</dd>
        <dt>status</dt>
        <dd class={span.status === "STATUS_CODE_ERROR" ? "bad" : undefined}>
          {span.status.replace("STATUS_CODE_", "").toLowerCase()} {visible(span.statusMessage)}
        </dd>
        <dt>span id</dt>
        <dd class="mono">{span.spanId} <CopyButton text={span.spanId} /></dd>
        {scope && scope.name !== "" && (
          <>
            <dt>library</dt>
            <dd><bdi>{visible(`${scope.name} ${scope.version}`)}</bdi></dd>
          </>
        )}
      </dl>
      <Logs trace={trace} span={span} />
      <Attributes title="Attributes" scope="span" list={span.attributes} />
      {span.events.length > 0 && <h3>Events</h3>}
      {span.events.map((e, i) => (
        <details key={i} class="event-box">
          <summary>
            <bdi>{visible(e.name)}</bdi> <span class="faint">+{duration(Number(BigInt(e.timeUnixNano) - BigInt(span.startTimeUnixNano)))}</span>
          </summary>
          <Attributes title="" scope="event" list={e.attributes} />
        </details>
      ))}
      {span.links.length > 0 && <h3>Links</h3>}
      {span.links.map((l, i) => (
        <p key={i}>
          <ViewLink to={{ view: "trace", id: l.traceId, span: l.spanId }} class="mono">
            {l.traceId} / {l.spanId}
          </ViewLink>
        </p>
      ))}
      {resource && <Attributes title="Resource" scope="resource" list={resource.attributes} />}
    </div>
  );
}
