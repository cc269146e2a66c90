// One question of a view: asked again when its key changes, given up when the view goes away.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, forgetToken, type Answer } from "./client";
import { needCredentials, onCredentials } from "./token";

export interface Asked<T> {
  readonly data: T | undefined;
  readonly partial: string;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Loading for over a second: time to report it. */
  readonly isSlow: boolean;
  /** For over five seconds: time to offer to give it up. */
  readonly isLong: boolean;
  /** When the data was answered; 0: there is none. */
  readonly atMs: number;
  readonly again: () => void;
  readonly cancel: () => void;
}

interface Held<T> {
  key: string;
  data: T | undefined;
  partial: string;
  error: ApiError | undefined;
  isLoading: boolean;
  isSlow: boolean;
  isLong: boolean;
  atMs: number;
}

/** Queries of the views on screen that have no answer yet. */
let unanswered = 0;

export function isAnyUnanswered(): boolean {
  return unanswered > 0;
}

/** `key` empty: nothing is asked. What was there stays on screen until the new answer is in, unless `drops` says the key
 * is about something else altogether. */
export function useAsk<T>(key: string, ask: (signal: AbortSignal) => Promise<Answer<T>>, drops = false): Asked<T> {
  const [held, set] = useState<Held<T>>({ key: "", data: undefined, partial: "", error: undefined, isLoading: key !== "", isSlow: false, isLong: false, atMs: 0 });
  const giveUp = useRef<() => void>();
  const [turn, setTurn] = useState(0);
  const asking = useRef(ask);
  asking.current = ask;
  const again = useCallback(() => setTurn((n) => n + 1), []);

  useEffect(() => onCredentials(again), [again]);
  useEffect(() => {
    if (key === "") {
      set({ key, data: undefined, partial: "", error: undefined, isLoading: false, isSlow: false, isLong: false, atMs: 0 });
      return undefined;
    }
    const stop = new AbortController();
    set((h) => ({ ...h, key, data: drops && h.key !== key ? undefined : h.data, error: undefined, isLoading: true, isSlow: false, isLong: false }));
    const slow = setTimeout(() => set((h) => ({ ...h, isSlow: true })), 1000);
    const long = setTimeout(() => set((h) => ({ ...h, isLong: true })), 5000);
    let isOver = false;
    const end = () => {
      clearTimeout(slow);
      clearTimeout(long);
      if (!isOver) unanswered--;
      isOver = true;
    };
    giveUp.current = () => {
      if (isOver) return;
      end();
      stop.abort();
      set((h) => ({ ...h, error: new ApiError(0, "The query was cancelled.", 0), isLoading: false, isSlow: false, isLong: false }));
    };
    unanswered++;
    asking
      .current(stop.signal)
      .then((a) => {
        if (!stop.signal.aborted) set({ key, data: a.data, partial: a.partial, error: undefined, isLoading: false, isSlow: false, isLong: false, atMs: Date.now() });
      })
      .catch((e: unknown) => {
        if (stop.signal.aborted) return;
        const error = e instanceof ApiError ? e : new ApiError(0, e instanceof Error ? e.message : String(e), 0);
        if (error.status === 401) {
          if (error.message === "unknown token") forgetToken();
          needCredentials(error.message);
        }
        set((h) => ({ ...h, error, isLoading: false, isSlow: false, isLong: false }));
      })
      .finally(end);
    return () => {
      end();
      stop.abort();
    };
  }, [key, turn, drops]);

  const cancel = useCallback(() => giveUp.current?.(), []);
  return { ...held, isLoading: held.isLoading || (key !== "" && held.key !== key), again, cancel };
}
