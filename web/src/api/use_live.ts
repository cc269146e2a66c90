// A question that is repeated while its view is shown, until the answer is final.

import { useEffect, useRef, useState } from "preact/hooks";

/** `key` empty: nothing is asked. The next query starts `everyMs` after the last answer, so that a slow server never has two of
 * them. A failed query is repeated; the last answer stays. `isFinal` ends the repetition. */
export function useLive<T>(key: string, everyMs: number, ask: (signal: AbortSignal) => Promise<T>, isFinal: (data: T) => boolean): T | undefined {
  const [held, set] = useState<{ key: string; data: T | undefined }>({ key, data: undefined });
  const now = useRef({ ask, isFinal });
  now.current = { ask, isFinal };
  useEffect(() => {
    if (key === "") return undefined;
    const stop = new AbortController();
    let timer = 0;
    const again = () => {
      timer = window.setTimeout(go, everyMs);
    };
    const go = () => {
      if (document.hidden) {
        again();
        return;
      }
      now.current
        .ask(stop.signal)
        .then((data) => {
          if (stop.signal.aborted) return;
          set({ key, data });
          if (!now.current.isFinal(data)) again();
        })
        .catch(() => {
          if (!stop.signal.aborted) again();
        });
    };
    go();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  return held.key === key ? held.data : undefined;
}
