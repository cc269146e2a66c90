import { clock, count } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import type { Range } from "../state/range";
import { deployLink, hasSides, type Deploy } from "./use_deploys";

/** Deploys of the range; each opens before and after, where spans have both. */
export function DeployList(props: { deploys: readonly Deploy[]; range: Range; max: number }) {
  const more = props.deploys.length - props.max;
  const span = props.range.untilMs - props.range.fromMs;
  return (
    <ul class="dl">
      {props.deploys.slice(0, props.max).map((d) => (
        <li key={`${d.service} ${d.version} ${String(d.ms)}`}>
          <span class="row one">
            <Name text={d.version} class="mono b" />
            <ServiceMark name={d.service} />
            <Name text={d.service} />
          </span>
          {hasSides(d) && (
            <ViewLink to={deployLink(d)} class="link sm">
              Before and after
            </ViewLink>
          )}
          <span class="f3 sm">
            {clock(d.ms, span)}{d.against === "" ? (d.isSeen ? "" : ", not seen in data yet") : <>, after <Name text={d.against} class="mono" /></>}
          </span>
        </li>
      ))}
      {more > 0 && <li class="f3 sm">and {count(more)} more</li>}
    </ul>
  );
}
