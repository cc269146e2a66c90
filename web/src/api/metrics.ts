// TraceQL metrics over any range: the server answers for at most a day, so longer ones are requested in pieces.

import { get, type Answer } from "./client";
import type { MetricAnswer, MetricSeries } from "./types";
import type { Range } from "../state/range";

const DAY_S = 86400;
const AT_ONCE = 3;

export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** Unix seconds, each piece a whole number of steps and at most a day, the first one the oldest. */
export function piecesOf(range: Range, stepS: number): Piece[] {
  const first = Math.floor(range.fromMs / 1e3 / stepS) * stepS;
  const last = Math.ceil(range.untilMs / 1e3 / stepS) * stepS;
  if (last - first <= DAY_S - 2 * stepS) return [{ start: Math.floor(range.fromMs / 1e3), end: Math.ceil(range.untilMs / 1e3) }];
  const length = Math.max(stepS, Math.floor((DAY_S - 2 * stepS) / stepS) * stepS);
  const out: Piece[] = [];
  for (let at = first; at < last; at += length) out.push({ start: at, end: Math.min(at + length, last) });
  return out;
}

/** One answer of many; where pieces meet, a sample of the later one counts. */
export function joined(answers: readonly MetricAnswer[]): MetricAnswer {
  const [only] = answers;
  if (answers.length === 1 && only) return only;
  const all = new Map<string, { labels: MetricSeries["labels"]; samples: Map<string, number>; exemplars: NonNullable<MetricSeries["exemplars"]> }>();
  for (const s of answers.flatMap((a) => a.series ?? [])) {
    const key = JSON.stringify(s.labels);
    const held = all.get(key) ?? { labels: s.labels, samples: new Map<string, number>(), exemplars: [] };
    for (const p of s.samples ?? []) held.samples.set(p.timestampMs, p.value ?? 0);
    held.exemplars.push(...(s.exemplars ?? []));
    all.set(key, held);
  }
  const times = [...new Set([...all.values()].flatMap((s) => [...s.samples.keys()]))].sort((a, b) => Number(a) - Number(b));
  const partial = answers.find((a) => a.status === "PARTIAL");
  return {
    series: [...all.values()].map((s) => ({ labels: s.labels, exemplars: s.exemplars, samples: times.map((t) => ({ timestampMs: t, value: s.samples.get(t) ?? 0 })) })),
    ...(partial?.status === undefined ? {} : { status: partial.status }),
    ...(partial?.message === undefined ? {} : { message: partial.message }),
  };
}

export async function metrics(q: string, range: Range, stepS: number, signal: AbortSignal, exemplars?: string): Promise<Answer<MetricAnswer>> {
  const pieces = piecesOf(range, stepS);
  const answers: MetricAnswer[] = [];
  let partial = "";
  const todo = pieces.map((piece, at) => ({ piece, at }));
  const work = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) {
      const { start, end } = next.piece;
      const answer = await get<MetricAnswer>("/api/metrics/query_range", { q, step: `${String(stepS)}s`, exemplars, start: String(start), end: String(end) }, signal);
      answers[next.at] = answer.data;
      partial ||= answer.partial;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, pieces.length) }, work));
  return { data: joined(answers), partial };
}
