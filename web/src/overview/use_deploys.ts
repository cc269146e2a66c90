// Deploys: moments at which a version of a service first appears, after another one.

import { useMemo } from "preact/hooks";
import { metrics } from "../api/metrics";
import type { MetricAnswer } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import type { Range } from "../state/range";
import { plain } from "../trace/rows";
import { sparkStep } from "./use_red";

export interface Deploy {
  readonly service: string;
  readonly version: string;
  /** The version that ran before it */
  readonly against: string;
  readonly ms: number;
  /** The attribute that told: resource.service.version or resource.commit */
  readonly key: string;
}

export const KEYS = ["resource.service.version", "resource.commit"] as const;

export function deploysOf(a: MetricAnswer | undefined, stepMs: number): Deploy[] {
  const firsts = new Map<string, { version: string; ms: number; key: string }[]>();
  for (const s of a?.series ?? []) {
    const label = (k: string) => {
      const v = plain(s.labels.find((l) => l.key === k)?.value);
      return v === "nil" ? "" : v;
    };
    const key = KEYS.find((k) => label(k) !== "");
    const times = (s.samples ?? []).filter((p) => (p.value ?? 0) > 0).map((p) => Number(p.timestampMs));
    if (key === undefined || times.length === 0) continue;
    const service = label("resource.service.name");
    const known = firsts.get(service) ?? [];
    // A point stands for the step that ends there.
    known.push({ version: label(key), ms: Math.min(...times) - stepMs, key });
    firsts.set(service, known);
  }
  const out: Deploy[] = [];
  for (const [service, all] of firsts) {
    all.sort((x, y) => x.ms - y.ms);
    for (let i = 1; i < all.length; i++) {
      const [was, is] = [all[i - 1], all[i]];
      if (was && is && was.version !== is.version) out.push({ service, version: is.version, against: was.version, ms: is.ms, key: is.key });
    }
  }
  return out.sort((x, y) => y.ms - x.ms);
}

/** `service` empty: of all of them. */
export function useDeploys(range: Range, service = ""): { asked: Asked<MetricAnswer>; deploys: readonly Deploy[] } {
  const step = Math.max(1, Math.floor(sparkStep(range) / 4));
  const inner = service === "" ? "" : `resource.service.name = ${JSON.stringify(service)} `;
  const q = `{ ${inner}} | count_over_time() by (resource.service.name, resource.service.version, resource.commit)`;
  const asked = useAsk<MetricAnswer>(JSON.stringify([q, range, step]), (s) => metrics(q, range, step, s, "0"));
  const deploys = useMemo(() => deploysOf(asked.data, step * 1e3), [asked.data, step]);
  return { asked, deploys };
}

/** Spans of a service before and after a deploy, as two queries. */
export function sidesOf(d: Deploy, inner = ""): { left: string; right: string } {
  const of = (version: string) => `{ resource.service.name = ${JSON.stringify(d.service)} && ${d.key} = ${JSON.stringify(version)}${inner === "" ? "" : ` && ${inner}`} }`;
  return { left: of(d.against), right: of(d.version) };
}

/** Before and after of a deploy. Where versions told it, the server explains the difference, too. */
export function deployLink(d: Deploy, inner = ""): Readonly<Record<string, string | undefined>> {
  const entry = inner === "" ? "(kind = server || kind = consumer)" : inner;
  return { view: "compare", ...sidesOf(d, entry), ...(d.key === KEYS[0] && inner === "" ? { service: d.service, version: d.version, against: d.against } : {}) };
}
