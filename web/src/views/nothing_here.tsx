// Nothing in the range: where the data is instead, or how to send some.

import { call, get } from "../api/client";
import type { Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { moment } from "../format/units";
import { ViewLink } from "../parts/link";
import type { Range } from "../state/range";
import { FirstUse } from "./first_use";

interface Elsewhere {
  /** The last of longer and longer times that has spans; empty: none has */
  readonly spans: string;
  readonly profiles: string;
  readonly inRange: boolean;
}

const BACK = ["6h", "24h", "7d", "30d"] as const;
const MS: Readonly<Record<string, number>> = { "6h": 6 * 3600e3, "24h": 24 * 3600e3, "7d": 7 * 86400e3, "30d": 30 * 86400e3 };

async function look(range: Range, signal: AbortSignal): Promise<Elsewhere> {
  const now = Date.now();
  const hasProfiles = async (from: number, until: number) => ((await call<{ profileTypes?: unknown[] }>("ProfileTypes", { start: String(Math.floor(from)), end: String(Math.ceil(until)) }, signal)).data.profileTypes ?? []).length > 0;
  const inRange = await hasProfiles(range.fromMs, range.untilMs);
  let spans = "";
  let profiles = "";
  for (const b of BACK) {
    const from = now - (MS[b] ?? 0);
    const [s, p] = await Promise.all([get<Services>("/api/v1/services", { from: String(Math.floor(from)), until: String(now) }, signal), profiles === "" ? hasProfiles(from, now) : true]);
    if (p && profiles === "") profiles = b;
    if (s.data.services.length > 0) {
      spans = b;
      break;
    }
  }
  return { spans, profiles, inRange };
}

export function NothingHere(props: { range: Range }) {
  const { range } = props;
  const asked = useAsk<Elsewhere>(`elsewhere ${String(range.fromMs)}`, async (s) => ({ data: await look(range, s), partial: "" }));
  const e = asked.data;
  return (
    <>
      {e?.inRange && (
        <div class="found-else">
          <p>
            <b>Profiles only.</b> There are profiles in this time, and no spans. With traces that carry the same service name, every request would have its own flame graph.
          </p>
          <ViewLink to={{ view: "profiles" }} class="btn main">
            Open the profiles
          </ViewLink>
        </div>
      )}
      {e && e.spans !== "" && (
        <div class="found-else">
          <p>
            <b>There are spans, but not in this time</b> ({moment(range.fromMs).slice(0, 16)} to {moment(range.untilMs).slice(0, 16)}).
          </p>
          <ViewLink to={{ from: `now-${e.spans}`, until: "now" }} class="btn main">
            Show the last {e.spans}
          </ViewLink>
        </div>
      )}
      {e && !e.inRange && e.spans === "" && e.profiles !== "" && (
        <div class="found-else">
          <p>
            <b>There are profiles, but not in this time,</b> and no spans.
          </p>
          <ViewLink to={{ view: "profiles", from: `now-${e.profiles}`, until: "now" }} class="btn main">
            Show the last {e.profiles}
          </ViewLink>
        </div>
      )}
      {(!e || (e.spans === "" && !e.inRange && e.profiles === "")) && <FirstUse />}
    </>
  );
}
