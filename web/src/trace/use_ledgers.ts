// The time breakdowns of all spans of a trace, by one query.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import { useAsk, type Asked } from "../api/use_ask";

/** Nanoseconds of each part that is not empty. */
export type Parts = Readonly<Record<string, number>>;

export interface SpanLedger {
  spanId: string;
  parts: Parts;
  /** Parts that are estimates */
  estimates: string[];
}
export interface TraceLedgers {
  traceId: string;
  spans: SpanLedger[];
}

export function useLedgers(traceId: string, isOn: boolean): { asked: Asked<TraceLedgers>; of: ReadonlyMap<string, SpanLedger> } {
  const path = `/api/v1/traces/${traceId}/ledgers`;
  const asked = useAsk<TraceLedgers>(isOn ? path : "", (s) => get(path, {}, s), true);
  const of = useMemo(() => new Map((asked.data?.spans ?? []).map((s) => [s.spanId, s])), [asked.data]);
  return { asked, of };
}
