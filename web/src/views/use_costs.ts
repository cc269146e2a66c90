// CPU and memory of each service, from its profiles.

import { call, type ApiError } from "../api/client";
import { useAsk } from "../api/use_ask";
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
}

function byService(s: Series, of: (points: { value: number }[]) => number): Map<string, number> {
  const out = new Map<string, number>();
  for (const one of s.series ?? []) {
    const name = one.labels.find((l) => l.name === "service_name")?.value;
    if (name !== undefined && one.points.length > 0) out.set(name, of(one.points));
  }
  return out;
}

export interface Costs {
  /** Undefined: not answered yet, or failed */
  readonly of: ReadonlyMap<string, Cost> | undefined;
  readonly error: ApiError | undefined;
}

export function useCosts(range: Range): Costs {
  const times = { start: String(Math.floor(range.fromMs)), end: String(Math.ceil(range.untilMs)) };
  const seconds = Math.max(1, (range.untilMs - range.fromMs) / 1e3);
  const costs = useAsk<Map<string, Cost>>(`costs ${JSON.stringify(times)}`, async (signal) => {
    const types = ((await call<Types>("ProfileTypes", times, signal)).data.profileTypes ?? []).map((t) => t.ID);
    const cpu = types.find((t) => /^process_cpu:cpu:nanoseconds/.test(t)) ?? types.find((t) => /:cpu:nanoseconds/.test(t));
    const memory = types.find((t) => t.includes(":inuse_space:"));
    const ask = async (type: string | undefined, aggregation: string) => {
      if (type === undefined) return {};
      const body = { ...times, profileTypeID: type, labelSelector: "{}", step: Math.ceil(seconds / 4), groupBy: ["service_name"], aggregation };
      return (await call<Series>("SelectSeries", body, signal)).data;
    };
    const [a, b] = await Promise.all([ask(cpu, "TIME_SERIES_AGGREGATION_TYPE_SUM"), ask(memory, "TIME_SERIES_AGGREGATION_TYPE_AVERAGE")]);
    const cores = byService(a, (p) => p.reduce((n, x) => n + x.value, 0) / 1e9 / seconds);
    const held = byService(b, (p) => p[p.length - 1]?.value ?? 0);
    const names = new Set([...cores.keys(), ...held.keys()]);
    return { data: new Map([...names].map((n) => [n, { cores: cores.get(n), memory: held.get(n) }])), partial: "" };
  });
  return { of: costs.data, error: costs.error };
}
