// The time range: "now-1h" to "now", or two moments in milliseconds.

import type { Params } from "./url";

export interface Range {
  readonly fromMs: number;
  readonly untilMs: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 };
export const PRESETS = ["5m", "15m", "1h", "3h", "6h", "12h", "24h", "2d", "7d", "30d"] as const;
export const DEFAULT_FROM = "now-1h";
export const DEFAULT_UNTIL = "now";

/** "now", "now-90m", unix milliseconds, or a date as people write it (local time). NaN: none of them. */
export function readMoment(text: string, nowMs: number): number {
  const t = text.trim();
  const ago = /^now(?:-(\d+)([smhdw]))?$/.exec(t);
  if (ago) return nowMs - (ago[1] === undefined ? 0 : Number(ago[1]) * (UNIT_MS[ago[2] ?? "s"] ?? 0));
  if (/^\d{12,14}$/.test(t)) return Number(t);
  const day = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(t);
  if (!day) return NaN;
  return Date.parse(`${day[1] ?? ""}T${day[2] ?? "00:00"}${day[3] ?? ""}`);
}

export function rangeOf(params: Params, nowMs: number): Range {
  const fromMs = readMoment(params["from"] || DEFAULT_FROM, nowMs);
  const untilMs = readMoment(params["until"] || DEFAULT_UNTIL, nowMs);
  if (Number.isFinite(fromMs) && Number.isFinite(untilMs) && fromMs < untilMs) return { fromMs, untilMs };
  return { fromMs: nowMs - 3600e3, untilMs: nowMs };
}

/** The form the house calls take. */
export function asked(range: Range): { from: string; until: string } {
  return { from: String(Math.floor(range.fromMs)), until: String(Math.ceil(range.untilMs)) };
}

/** The form Tempo's calls take: unix seconds. */
export function askedSeconds(range: Range): { start: string; end: string } {
  return { start: String(Math.floor(range.fromMs / 1e3)), end: String(Math.ceil(range.untilMs / 1e3)) };
}

/** Twice as long around the same middle, but not beyond now; "now-1h" becomes "now-2h". */
export function zoomedOut(url: { from: string; until: string }, nowMs: number): { from: string; until: string } {
  const back = /^now-(\d+)([smhdw])$/.exec(url.from);
  if (back && url.until === "now") return { from: `now-${String(Number(back[1]) * 2)}${back[2] ?? "h"}`, until: "now" };
  const r = rangeOf(url, nowMs);
  const half = (r.untilMs - r.fromMs) / 2;
  const untilMs = Math.max(r.untilMs, Math.min(r.untilMs + half, nowMs));
  return { from: String(Math.floor(untilMs - 4 * half)), until: String(Math.ceil(untilMs)) };
}
