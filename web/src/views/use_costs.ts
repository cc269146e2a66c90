// CPU and memory of each service, from its profiles.

import { call, type ApiError } from "../api/client";
import { useAsk } from "../api/use_ask";
import { BLOCKS, partsOf } from "../overview/blocks";
import type { Range } from "../state/range";

interface Series {
  series?: { labels: { name: string; value: string }[]; points: { value: number; timestamp: string }[] }[];
}
interface Types {
  profileTypes?: { ID: string }[];
}

export interface Cost {
  /** Of one core */
  readonly cores: number | undefined;
  readonly memory: number | undefined;
  /** CPU time in each part of the range, in nanoseconds; null: no profile started in it */
  readonly cpu: readonly (number | null)[];
}

export interface Costs {
  /** Undefined: not answered yet, or failed */
  readonly of: ReadonlyMap<string, Cost> | undefined;
  readonly error: ApiError | undefined;
}

/** `range` undefined: nothing is asked. One query of each kind for all services, with a point for each part of the range. */
export function useCosts(range: Range | undefined, hasMemory = true): Costs {
  const costs = useAsk<Map<string, Cost>>(range ? `costs ${JSON.stringify([range, hasMemory])}` : "", async (signal) => {
    const { fromMs, untilMs } = range ?? { fromMs: 0, untilMs: 1 };
    const times = { start: String(Math.floor(fromMs)), end: String(Math.ceil(untilMs)) };
    const seconds = Math.max(1, (untilMs - fromMs) / 1e3);
    const step = seconds / BLOCKS;
    const types = ((await call<Types>("ProfileTypes", times, signal)).data.profileTypes ?? []).map((t) => t.ID);
    const cpu = types.find((t) => /^process_cpu:cpu:nanoseconds/.test(t)) ?? types.find((t) => /:cpu:nanoseconds/.test(t));
    const memory = hasMemory ? types.find((t) => t.includes(":inuse_space:")) : undefined;
    const ask = async (type: string | undefined, aggregation: string) => {
      const out = new Map<string, { ms: number; value: number }[]>();
      if (type === undefined) return out;
      const body = { ...times, profileTypeID: type, labelSelector: "{}", step, groupBy: ["service_name"], aggregation };
      for (const one of (await call<Series>("SelectSeries", body, signal)).data.series ?? []) {
        const name = one.labels.find((l) => l.name === "service_name")?.value;
        if (name !== undefined && one.points.length > 0) out.set(name, one.points.map((p) => ({ ms: Number(p.timestamp), value: p.value })));
      }
      return out;
    };
    const [ran, held] = await Promise.all([ask(cpu, "TIME_SERIES_AGGREGATION_TYPE_SUM"), ask(memory, "TIME_SERIES_AGGREGATION_TYPE_AVERAGE")]);
    const costOf = (name: string): Cost => {
      const all = ran.get(name);
      // What started at the first moment itself has a point there, and belongs to the first part.
      const points = (all ?? []).map((p) => ({ ...p, ms: Math.max(p.ms, fromMs + step * 500) }));
      return {
        cores: all ? all.reduce((n, p) => n + p.value, 0) / 1e9 / seconds : undefined,
        memory: held.get(name)?.at(-1)?.value,
        cpu: partsOf(points, { fromMs, untilMs }, step * 1e3).map((some) => some && some.reduce((n, v) => n + v, 0)),
      };
    };
    return { data: new Map([...new Set([...ran.keys(), ...held.keys()])].map((n) => [n, costOf(n)])), partial: "" };
  });
  return { of: costs.data, error: costs.error };
}
