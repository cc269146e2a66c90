import { get } from "../api/client";
import type { Explain } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";

/** Why it took so long; `key` empty: nothing is asked. */
export function useExplain(query: Readonly<Record<string, string | undefined>> | undefined): Asked<Explain> {
  return useAsk<Explain>(query === undefined ? "" : `explain ${JSON.stringify(query)}`, (s) => get("/api/v1/explain", query ?? {}, s), true);
}
