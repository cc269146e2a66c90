// Samples of a whole trace in order of time: those of the spans by which it enters each process, one beside the other.

import { get } from "../api/client";
import type { Profile, Span, SpanProfile, Trace } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import type { Moment } from "../flame/tree";

export interface Timeline {
  readonly profile: Profile;
  readonly moments: readonly Moment[];
  readonly wholeNs: number;
  /** By thread: whose it is */
  readonly names: readonly string[];
  /** Entries into processes that were not asked */
  readonly left: number;
}

/** Entries that are asked: the longest. */
export const MOST_ENTRIES = 16;

/** Spans by which the request enters a process: their parent is of another service, or not there. */
export function entriesOf(spans: readonly Span[]): Span[] {
  const service = new Map(spans.map((s) => [s.spanId, s.service]));
  return spans.filter((s) => service.get(s.parentSpanId) !== s.service);
}

interface Part {
  readonly span: Span;
  readonly profile: Profile;
  readonly moments: readonly Moment[];
}

/** One profile and one list of moments, in time of the trace. Threads of different processes are different threads. */
export function mergedTime(parts: readonly Part[], wholeNs: number, left = 0): Timeline {
  const frames: Profile["frames"][number][] = [];
  const nodes: Profile["nodes"] = [[0, -1, 0]];
  const moments: Moment[] = [];
  const names: string[] = [];
  let total = 0;
  for (const { span, profile, moments: own } of parts) {
    const [firstFrame, firstNode, firstThread] = [frames.length, nodes.length - 1, names.length];
    frames.push(...profile.frames);
    profile.nodes.forEach(([up, f, v], i) => {
      if (i > 0) nodes.push([up === 0 ? 0 : up + firstNode, f + firstFrame, v]);
    });
    total += profile.total;
    const threads = own.reduce((n, m) => Math.max(n, m[4] + 1), 0);
    for (let i = 0; i < threads; i++) names.push(`${span.service}: ${span.name}${threads > 1 ? `, thread ${String(i + 1)}` : ""}`);
    for (const [start, length, v, node, thread] of own) moments.push([start + span.startOffsetNs, length, v, node === 0 ? 0 : node + firstNode, thread + firstThread]);
  }
  const first = parts[0]?.profile;
  const unit = first?.unit ?? "nanoseconds";
  return { profile: { service: "", type: first?.type ?? "", unit, labels: {}, timeUnixNano: "0", durationNs: wholeNs, period: 0, total, samples: moments.length, isCut: false, frames, nodes }, moments, wholeNs, names, left };
}

/** `type` undefined: nothing is asked. */
export function useTraceTime(trace: Trace, type: string | undefined): Asked<Timeline> {
  return useAsk<Timeline>(type === undefined ? "" : `trace time ${trace.traceId} ${type}`, async (s) => {
    const all = entriesOf(trace.spans);
    const chosen = [...all].sort((a, b) => b.durationNs - a.durationNs).slice(0, MOST_ENTRIES).sort((a, b) => a.startOffsetNs - b.startOffsetNs);
    const got = await Promise.all(chosen.map(async (span) => ({ span, answer: (await get<SpanProfile>(`/api/v1/spans/${trace.traceId}/${span.spanId}/profile`, { type, timeline: "true" }, s)).data })));
    const parts = got.filter(({ answer }) => (answer.timeline ?? []).length > 0).map(({ span, answer }) => ({ span, profile: answer.profile, moments: answer.timeline ?? [] }));
    return { data: mergedTime(parts, trace.durationNs, all.length - chosen.length), partial: "" };
  }, true);
}
