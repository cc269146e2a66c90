// Numbers beside the views of the rail: findings that were not there at the last visit, alerts that fire.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Told } from "../overview/use_findings";

const KEY = "spanflame.seenFindings";
const MOST = 500;
const EVERY_MS = 60e3;

const keyOf = (f: Pick<Told, "service" | "kind" | "subject">) => `${f.service}\n${f.kind}\n${f.subject}`;

export function seenFindings(): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return new Set(Array.isArray(kept) ? kept.filter((k): k is string => typeof k === "string") : []);
  } catch {
    return new Set();
  }
}

let news = 0;
const listeners = new Set<() => void>();

/** What a view knows of findings; `isVisit`: they are on screen now, and are not new the next time. */
export function tellFindings(told: readonly Pick<Told, "service" | "kind" | "subject">[], isVisit: boolean): void {
  const seen = seenFindings();
  if (isVisit) localStorage.setItem(KEY, JSON.stringify([...new Set([...seen, ...told.map(keyOf)])].slice(-MOST)));
  news = isVisit ? 0 : told.filter((f) => !seen.has(keyOf(f))).length;
  for (const f of listeners) f();
}

export interface Badges {
  readonly findings: number;
  readonly alerts: number;
}

/** The alerts are requested once a minute while somebody looks. */
export function useBadges(): Badges {
  const [, turn] = useState(0);
  const [alerts, setAlerts] = useState(0);
  useEffect(() => {
    const f = () => turn((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    const ask = () => {
      if (document.visibilityState !== "visible") return;
      get<{ data: { alerts: readonly { state: string; silenced?: boolean }[] } }>("/api/v1/alerts", {}, stop.signal)
        .then((a) => setAlerts(a.data.data.alerts.filter((x) => x.state === "firing" && x.silenced !== true).length))
        .catch(() => setAlerts(0)); // the view of alerts says what failed
    };
    ask();
    const timer = setInterval(ask, EVERY_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, []);
  return { findings: news, alerts };
}
