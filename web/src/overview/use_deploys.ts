// Deploys, as the server lists them: versions that began, seen in spans or profiles, or told by whoever deployed.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Deploys } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { nanoToMs } from "../format/units";
import { asked as askedRange, type Range } from "../state/range";

export interface Deploy {
  readonly service: string;
  readonly version: string;
  /** The version that ran before it; "": not known */
  readonly against: string;
  readonly ms: number;
  /** The attribute of spans that has it: resource.service.version or resource.commit; "": no span has */
  readonly key: string;
  /** In spans or profiles; a deploy that was only told may not have got there. */
  readonly isSeen: boolean;
  readonly environment: string;
  readonly comment: string;
  /** Where more is reported for it; "" unless it is an address of the web. */
  readonly url: string;
}

export const KEYS = ["resource.service.version", "resource.commit"] as const;

export function deploysOf(a: Deploys | undefined): Deploy[] {
  return (a?.deploys ?? []).map((d) => ({
    service: d.service,
    version: d.version,
    against: d.against,
    ms: nanoToMs(d.timeUnixNano),
    key: d.attribute,
    isSeen: d.seen,
    environment: d.environment,
    comment: d.comment,
    url: /^https?:\/\/[^\s]+$/i.test(d.url) ? d.url : "",
  }));
}

/** `service` empty: of all of them. */
export function useDeploys(range: Range, service = ""): { asked: Asked<Deploys>; deploys: readonly Deploy[] } {
  const q = { service, ...askedRange(range) };
  const asked = useAsk<Deploys>(`deploys ${JSON.stringify(q)}`, async (s) => {
    const answer = await get<Deploys>("/api/v1/deploys", q, s);
    return { ...answer, partial: answer.partial === "" ? answer.data.note : answer.partial };
  });
  const deploys = useMemo(() => deploysOf(asked.data), [asked.data]);
  return { asked, deploys };
}

/** Are there spans of both versions to compare? */
export function hasSides(d: Deploy): boolean {
  return d.key !== "" && d.against !== "";
}

/** What a link needs of a deploy. */
type Sides = Pick<Deploy, "service" | "version" | "against" | "key">;

/** Spans of a service before and after a deploy, as two queries. */
export function sidesOf(d: Sides, inner = ""): { left: string; right: string } {
  const of = (version: string) => `{ resource.service.name = ${JSON.stringify(d.service)} && ${d.key} = ${JSON.stringify(version)}${inner === "" ? "" : ` && ${inner}`} }`;
  return { left: of(d.against), right: of(d.version) };
}

/** Requests that enter, as the server compares versions. */
export const DEPLOY_ENTRY = "(kind = server || kind = consumer)";

/** Before and after of a deploy. Where versions told it, the server explains the difference, too. */
export function deployLink(d: Sides, inner = ""): Readonly<Record<string, string | undefined>> {
  const entry = inner === "" ? DEPLOY_ENTRY : inner;
  return { view: "compare", ...sidesOf(d, entry), ...(d.key === KEYS[0] && inner === "" ? { service: d.service, version: d.version, against: d.against } : {}) };
}

/** Two deploys, the older one on the left: of one service as before and after, otherwise as two queries. */
export function twoLink(older: Deploy, newer: Deploy): Readonly<Record<string, string | undefined>> {
  if (older.service === newer.service && older.key === newer.key && older.version !== newer.version) return deployLink({ ...newer, against: older.version });
  const of = (d: Deploy) => sidesOf(d, DEPLOY_ENTRY).right;
  return { view: "compare", left: of(older), right: of(newer) };
}
