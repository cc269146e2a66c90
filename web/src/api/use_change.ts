// One call that changes something at a time, and what the server said of it.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./client";
import { needCredentials } from "./token";

export interface Change {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
  readonly run: (work: (signal: AbortSignal) => Promise<unknown>) => void;
}

export function useChange(onDone: () => void): Change {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = useCallback(
    (work: (signal: AbortSignal) => Promise<unknown>) => {
      setBusy(true);
      setError(undefined);
      work(stop.current.signal)
        .then(onDone)
        .catch((e: unknown) => {
          if (stop.current.signal.aborted) return;
          const told = e instanceof ApiError ? e : new ApiError(0, e instanceof Error ? e.message : String(e), 0);
          if (told.status === 401) needCredentials(told.message);
          setError(told);
        })
        .finally(() => setBusy(false));
    },
    [onDone],
  );
  return { isBusy, error, run };
}
