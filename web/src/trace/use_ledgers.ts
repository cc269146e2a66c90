// Ledgers of the rows on screen, a few at a time, asked once the scrolling rests.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Ledger } from "../api/types";

const AT_ONCE = 3;

export function useLedgers(traceId: string, spanIds: readonly string[]): ReadonlyMap<string, Ledger> {
  const known = useRef<{ trace: string; map: Map<string, Ledger> }>({ trace: "", map: new Map() });
  const [, setTurn] = useState(0);
  const wanted = spanIds.join(" ");
  if (known.current.trace !== traceId) known.current = { trace: traceId, map: new Map() };
  useEffect(() => {
    const stop = new AbortController();
    const { map } = known.current;
    const todo = wanted === "" ? [] : wanted.split(" ").filter((id) => !map.has(id));
    const work = async () => {
      for (let id = todo.shift(); id !== undefined; id = todo.shift()) {
        try {
          map.set(id, (await get<Ledger>(`/api/v1/spans/${traceId}/${id}/ledger`, {}, stop.signal)).data);
          setTurn((n) => n + 1);
        } catch {
          return; // a decoration: the span's own pane says what is wrong
        }
      }
    };
    const timer = setTimeout(() => {
      for (let i = 0; i < AT_ONCE; i++) void work();
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [traceId, wanted]);
  return known.current.map;
}
