import { ApiError } from "../api/client";
import { visible } from "../format/safe_text";
import { clock, count, duration } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import type { Range } from "../state/range";
import { between } from "../views/deploy_figures";
import { durationChange, isExplained, keyOf, useDeployChanges, type DeployChange } from "../views/use_deploy_changes";
import { deployLink, hasSides, type Deploy } from "./use_deploys";

/** The change of a request's duration, and below it how sure that is. */
function Change(props: { deploy: Deploy; change: DeployChange | undefined }) {
  const { change: c } = props;
  if (!isExplained(props.deploy)) return null;
  if (c === undefined) return <span class="dchange faint">…</span>;
  if (c.explain instanceof ApiError)
    return (
      <span class="dchange bad sm" title={visible(c.explain.message)}>
        failed
      </span>
    );
  const told = durationChange(c);
  const title = visible(c.explain.sentence || c.explain.reason);
  if (!told)
    return (
      <span class="dchange f3 sm" title={title}>
        too few spans
      </span>
    );
  const sign = (n: number) => (n < 0 ? `\u2212${duration(-n)}` : `+${duration(n)}`);
  const isSure = told.low > 0 || told.high < 0;
  return (
    <span class="dchange" title={title}>
      <b class={isSure ? (told.delta > 0 ? "more" : "less") : "f3"}>{Math.abs(told.delta) < 1 ? "±0" : sign(told.delta)}</b>
      <span class="f3 sm">{isSure ? between(sign(told.low), sign(told.high)) : "may be chance"}</span>
    </span>
  );
}

/** Deploys of the range, newest first, and what each changed per request; each opens before and after, where spans have both. */
export function DeployList(props: { deploys: readonly Deploy[]; range: Range; max: number; isLate: boolean }) {
  const more = props.deploys.length - props.max;
  const span = props.range.untilMs - props.range.fromMs;
  const changes = useDeployChanges(props.deploys, props.range, props.isLate ? props.max : 0, false);
  return (
    <ul class="dl">
      {props.deploys.slice(0, props.max).map((d) => (
        <li key={keyOf(d)}>
          <span class="row one">
            <Name text={d.version} class="mono b" />
            <ServiceMark name={d.service} />
            <Name text={d.service} />
          </span>
          <Change deploy={d} change={changes.get(keyOf(d))} />
          <span class="f3 sm">
            {clock(d.ms, span)}{d.against === "" ? (d.isSeen ? "" : ", not seen in data yet") : <>, after <Name text={d.against} class="mono" /></>}
          </span>
          {hasSides(d) && (
            <ViewLink to={deployLink(d)} class="link sm">
              Before and after
            </ViewLink>
          )}
        </li>
      ))}
      {more > 0 && <li class="f3 sm">and {count(more)} more</li>}
    </ul>
  );
}
