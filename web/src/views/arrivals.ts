// What an empty store has received meanwhile: spans, profiles, and samples that belong to spans.

import { useRef } from "preact/hooks";
import { call, get } from "../api/client";
import type { Coverage, Services } from "../api/types";
import { useLive } from "../api/use_live";

/** Data with old times counts, too. */
const BACK_MS = 30 * 86400e3;

const EVERY_MS = 1500;

export interface Arrivals {
  /** Services that sent spans */
  readonly spans: readonly string[];
  /** Types of profiles that arrived */
  readonly profiles: readonly string[];
  /** A service whose spans have samples; "": none yet */
  readonly linked: string;
}

/** Whether samples are linked is asked of one service at a time: `turn` counts the queries, so that each has its turn. */
export async function arrivals(signal: AbortSignal, nowMs: number, turn: number): Promise<Arrivals> {
  const [from, until] = [String(Math.floor(nowMs - BACK_MS)), String(Math.ceil(nowMs))];
  const [services, types] = await Promise.all([
    get<Services>("/api/v1/services", { from, until }, signal),
    call<{ profileTypes?: { ID: string }[] }>("ProfileTypes", { start: from, end: until }, signal),
  ]);
  const spans = services.data.services.map((s) => s.service);
  const profiles = (types.data.profileTypes ?? []).map((t) => t.ID);
  const service = spans[turn % Math.max(1, spans.length)];
  if (service === undefined || profiles.length === 0) return { spans, profiles, linked: "" };
  const { data } = await get<Coverage>("/api/v1/coverage", { service, from, until }, signal);
  return { spans, profiles, linked: (data.link?.sampledSpans ?? 0) > 0 ? service : "" };
}

export function useArrivals(): Arrivals {
  const turn = useRef(0);
  return useLive("arrivals", EVERY_MS, (s) => arrivals(s, Date.now(), turn.current++), (a) => a.linked !== "") ?? { spans: [], profiles: [], linked: "" };
}
