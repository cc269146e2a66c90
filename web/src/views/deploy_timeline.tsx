// Timeline of deploys in the range, with a lane for each service. A mark links to the comparison before and after; marks too close together are merged.

import { timeTicks } from "../charts/axis";
import { visible } from "../format/safe_text";
import { clock, countOf, moment } from "../format/units";
import { deployLink, hasSides, type Deploy } from "../overview/use_deploys";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { ServiceMark } from "../parts/service_mark";
import type { Range } from "../state/range";

/** Marks closer than this share of the width are merged. */
const NEAR = 0.03;
const LANES = 12;

export interface Join {
  /** Position in the range, 0 to 1 */
  readonly at: number;
  readonly of: readonly Deploy[];
}

/** Sorted by time; a merged mark has the position of its first deploy. */
export function joins(deploys: readonly Deploy[], range: Range): Join[] {
  const out: { at: number; of: Deploy[] }[] = [];
  const length = Math.max(1, range.untilMs - range.fromMs);
  for (const d of [...deploys].sort((a, b) => a.ms - b.ms)) {
    const at = Math.min(1, Math.max(0, (d.ms - range.fromMs) / length));
    const last = out[out.length - 1];
    if (last && at - last.at < NEAR) last.of.push(d);
    else out.push({ at, of: [d] });
  }
  return out;
}

function Mark(props: { join: Join }) {
  const { at, of } = props.join;
  const newest = of[of.length - 1];
  if (!newest) return null;
  const words = of.length > 1 ? countOf(of.length, "deploy") : visible(newest.version);
  const all = of.map((d) => `${visible(d.service)} ${visible(d.version)}, ${moment(d.ms)}`).join("\n");
  return (
    <span class={at > 0.85 ? "dmark end" : "dmark"} style={{ left: `${(at * 100).toFixed(2)}%` }}>
      {hasSides(newest) ? (
        <ViewLink to={deployLink(newest)} class="plate" title={all} label={`Before and after ${visible(newest.service)} ${words}`}>
          <bdi>{words}</bdi>
        </ViewLink>
      ) : (
        <bdi class="plate" title={all}>
          {words}
        </bdi>
      )}
    </span>
  );
}

export function DeployTimeline(props: { deploys: readonly Deploy[]; range: Range }) {
  const { deploys, range } = props;
  const services = [...new Set(deploys.map((d) => d.service))];
  const length = Math.max(1, range.untilMs - range.fromMs);
  return (
    <div class="deploy-lanes" role="group" aria-label="Deploys over time">
      {services.slice(0, LANES).map((s) => (
        <div class="lane" key={s}>
          <span class="row one">
            <ServiceMark name={s} />
            <Name text={s} />
          </span>
          <span class="track">
            {joins(deploys.filter((d) => d.service === s), range).map((j) => (
              <Mark key={j.at} join={j} />
            ))}
          </span>
        </div>
      ))}
      <div class="lane">
        <span class="f3 sm">{services.length > LANES && `and ${countOf(services.length - LANES, "service")} more, in the list`}</span>
        <span class="track ticks" aria-hidden="true">
          {timeTicks(range.fromMs, range.untilMs, 4).map((t) => (
            <i key={t} class={(t - range.fromMs) / length > 0.95 ? "end" : undefined} style={{ left: `${(((t - range.fromMs) / length) * 100).toFixed(2)}%` }}>
              {clock(t, length)}
            </i>
          ))}
        </span>
      </div>
    </div>
  );
}
