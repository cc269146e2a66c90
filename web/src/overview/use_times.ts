// Where a request of each service spends its time, on average: the first rows of a list are asked, one after the other.

import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import type { Explain } from "../api/types";
import { asked, type Range } from "../state/range";
import { ENTRY } from "./use_red";

/** A mean costs the server about a tenth of a second: of a long list the worst have one. */
export const MOST_TIMES = 8;

export type Times = ReadonlyMap<string, Explain | ApiError>;

export function useTimes(services: readonly string[], range: Range): Times {
  const [known, setKnown] = useState<{ of: string; times: Times }>({ of: "", times: new Map() });
  const of = JSON.stringify(range);
  const key = services.join("\n");
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      for (const service of services) {
        if (known.of === of && known.times.has(service)) continue;
        const q = `{ resource.service.name = ${JSON.stringify(service)} && ${ENTRY} }`;
        const told = await get<Explain>("/api/v1/explain", { q, ...asked(range) }, stop.signal).then((a) => a.data).catch((e: unknown) => (e instanceof ApiError ? e : new ApiError(0, String(e), 0)));
        if (stop.signal.aborted) return;
        setKnown((now) => ({ of, times: new Map(now.of === of ? now.times : []).set(service, told) }));
      }
    };
    void ask();
    return () => stop.abort();
  }, [key, of]);
  return known.of === of ? known.times : new Map();
}
