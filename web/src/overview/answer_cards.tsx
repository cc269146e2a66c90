import { exactly } from "../flame/search";
import { visible } from "../format/safe_text";
import { duration, percent } from "../format/units";
import { Icon } from "../parts/icon";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Popover } from "../parts/popover";
import { ServiceMark } from "../parts/service_mark";
import { Sentence } from "../why/sentence";
import { factOf, KIND_WORDS, type Told } from "./use_findings";
import { ENTRY } from "./use_red";

/** Where a finding's evidence is: its example, else the graph with the function marked. */
export function evidenceOf(f: Told): Readonly<Record<string, string | undefined>> {
  return f.traceId !== "" ? { view: "trace", id: f.traceId, span: f.spanId, pane: "why", focus: f.subject, fs: exactly(f.subject) } : { view: "profiles", service: f.service, fs: exactly(f.subject) };
}

/** "…, in main > serve > handle": the way there is stated by the picture. */
export function shortFact(f: Told): string {
  const at = f.path === "" ? -1 : factOf(f).indexOf(`, in ${f.path}`);
  return at > 0 ? factOf(f).slice(0, at) : factOf(f);
}

const RARE = 0.5;

/** What grows is seen in its profiles over time. */
const GROWTH: Readonly<Record<string, string>> = { memory_growth: "inuse_space", thread_growth: "goroutine", stuck_on_lock: "goroutine" };

/** Where it is explained: its example; else the spans that have it, the slow ones against the others when few requests do. */
export function whyOf(f: Told): Readonly<Record<string, string | undefined>> {
  const type = GROWTH[f.kind];
  if (type !== undefined) return { view: "profiles", service: f.service, type, fs: exactly(f.subject) };
  if (f.traceId !== "") return evidenceOf(f);
  const of = (f.spanName ?? "") === "" ? ENTRY : `name = ${JSON.stringify(f.spanName)}`;
  const isRare = typeof f.requestShare === "number" && f.requestShare < RARE;
  return { view: "compare", q: `{ resource.service.name = ${JSON.stringify(f.service)} && ${of} }`, ...(isRare ? { split: "p95" } : { split: "all", focus: f.subject }), fs: exactly(f.subject) };
}

/** "shop.go:12", as far as it is known. */
export function placeOf(f: Told): string {
  const file = f.file ?? "";
  return file === "" ? "" : `${file.slice(file.lastIndexOf("/") + 1)}${(f.line ?? 0) > 0 ? `:${String(f.line)}` : ""}`;
}

/** "2.2 ms per request"; "52 ms in 2 % of requests" where few bear it, which is why it is ranked above others with that mean; or the share where
 * the cost is not known. */
export function costOf(f: Pick<Told, "perRequestNs" | "requestShare" | "share">): string {
  const { perRequestNs: ns, requestShare: share } = f;
  if (typeof ns !== "number" || ns <= 0) return percent(f.share);
  return typeof share === "number" && share > 0 && share < RARE ? `${duration(ns / share)} in ${percent(share)} of requests` : `${duration(ns)} per request`;
}

/** One cause a card: what, where, how much, and the one thing to do next. */
export function AnswerCard(props: { finding: Told; reasons?: readonly string[]; onDismiss?: (reason: string) => void }) {
  const f = props.finding;
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
        <Sentence text={shortFact(f)} names={[f.subject]} />
      </p>
      <p class="f2 sm">
        {placeOf(f) !== "" && (
          <>
            <bdi class="mono" title={visible(`${f.file ?? ""}:${String(f.line ?? 0)}`)}>
              {visible(placeOf(f))}
            </bdi>{" "}
          </>
        )}
        {f.action !== "" && (
          <bdi>
            {visible(f.action.slice(0, 1).toUpperCase() + f.action.slice(1))}
            {"."}
          </bdi>
        )}
      </p>
      <footer>
        <ViewLink to={whyOf(f)} class="btn main s" label={`Why slow? ${visible(f.subject)}`}>
          Why slow?
        </ViewLink>
        <ViewLink to={f.traceId !== "" ? { view: "profiles", service: f.service, fs: exactly(f.subject) } : evidenceOf(f)} class="link sm">
          Show in the graph
        </ViewLink>
        <span class="spring" />
        <span class="f3 sm" title={`${percent(f.share)} of what was examined: CPU time of the service, or the duration of the span that calls`}>
          {costOf(f)}
        </span>
        {props.onDismiss && (
          <Popover label={`Dismiss: ${visible(f.subject)}`} panel="Why dismiss it?" class="btn icon s ghost" title="Dismiss, with a reason" button={<Icon name="close" size={12} />}>
            {() => (
              <div class="menu-list">
                {(props.reasons ?? []).map((reason) => (
                  <button type="button" key={reason} onClick={() => props.onDismiss?.(reason)}>
                    {reason}
                  </button>
                ))}
              </div>
            )}
          </Popover>
        )}
      </footer>
    </article>
  );
}
