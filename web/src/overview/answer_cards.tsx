import { visible } from "../format/safe_text";
import { percent } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import { factOf, KIND_WORDS, type Told } from "./use_findings";

/** Where a finding's evidence is: its example, else the graph with the function marked. */
export function evidenceOf(f: Told): Readonly<Record<string, string | undefined>> {
  return f.traceId !== "" ? { view: "trace", id: f.traceId, span: f.spanId, pane: "why" } : { view: "profiles", service: f.service, fs: f.subject };
}

/** "…, in main > serve > handle": the way there is said by the picture. */
export function shortFact(f: Told): string {
  const at = f.path === "" ? -1 : factOf(f).indexOf(`, in ${f.path}`);
  return at > 0 ? factOf(f).slice(0, at) : factOf(f);
}

/** One cause a card: what, where, how much, and the one thing to do next. */
export function AnswerCard(props: { finding: Told; onDismiss?: () => void }) {
  const f = props.finding;
  const q = `{ resource.service.name = ${JSON.stringify(f.service)} }`;
  return (
    <article class="card ans">
      <div class="row one">
        <span class="chip warn">{KIND_WORDS[f.kind] ?? f.kind.replaceAll("_", " ")}</span>
        <span class="spring" />
        <ViewLink to={{ view: "service", service: f.service }} class="service">
          <ServiceMark name={f.service} />
          <Name text={f.service} />
        </ViewLink>
      </div>
      <p class="t" title={visible(f.sentence)}>
        <bdi>{visible(shortFact(f))}</bdi>
      </p>
      <p class="f2 sm">
        {f.action !== "" && (
          <bdi>
            {visible(f.action.slice(0, 1).toUpperCase() + f.action.slice(1))}
            {"."}
          </bdi>
        )}
      </p>
      <footer>
        <ViewLink to={f.traceId !== "" ? evidenceOf(f) : { view: "compare", q, split: "p95" }} class="btn main s">
          Why slow?
        </ViewLink>
        <ViewLink to={f.traceId !== "" ? { view: "profiles", service: f.service, fs: f.subject } : evidenceOf(f)} class="link sm">
          Show in the graph
        </ViewLink>
        <span class="spring" />
        <span class="f3 sm" title="of what was examined: CPU time of the service, or the duration of the span that calls">
          {percent(f.share)}
        </span>
        {props.onDismiss && (
          <button type="button" class="btn s" onClick={props.onDismiss}>
            Dismiss
          </button>
        )}
      </footer>
    </article>
  );
}
