// Numbers as people read them.

const TIME_STEPS: readonly (readonly [number, string])[] = [
  [3600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Three digits that matter, without trailing zeros. */
export function short(n: number): string {
  if (!Number.isFinite(n)) return "–";
  const size = Math.abs(n);
  const digits = size >= 100 || n === 0 ? 0 : size >= 10 ? 1 : size >= 0.01 ? 2 : 4;
  return String(Number(n.toFixed(digits)));
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  for (const [step, name] of TIME_STEPS) if (size >= step) return `${short(ns / step)} ${name}`;
  return ns === 0 ? "0 s" : `${short(ns)} ns`;
}

/** A duration as queries take it, with four digits that matter: "722.4ms". `round` is what the fifth becomes. */
export function queryDuration(ns: number, round: (n: number) => number): string {
  const at = Math.max(0, Math.round(ns));
  const [step, name] = ([[1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const).find(([s]) => at >= s) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(3, 3 - Math.floor(Math.log10(Math.max(at / step, 1)))));
  const scale = step === 1 ? 1 : 10 ** digits;
  return `${String(round((at / step) * scale) / scale)}${name}`;
}

export function bytes(n: number): string {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let left = n;
  while (Math.abs(left) >= 1024 && at < names.length - 1) {
    left /= 1024;
    at++;
  }
  return `${short(left)} ${names[at] ?? ""}`;
}

export function count(n: number): string {
  const size = Math.abs(n);
  if (size >= 1e9) return `${short(n / 1e9)} G`;
  if (size >= 1e6) return `${short(n / 1e6)} M`;
  if (size >= 1e4) return `${short(n / 1e3)} k`;
  return short(n);
}

/** "1 sample", "12 k samples". */
export function countOf(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** Whole from ten on, one digit behind the point below: always of a base that is named beside it. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const p = share * 100;
  const size = Math.abs(p);
  if (size !== 0 && size < 0.1) return p > 0 ? "<0.1 %" : "\u2212<0.1 %";
  return `${String(Number(p.toFixed(size >= 9.95 ? 0 : 1))).replace("-", "\u2212")} %`;
}

/** What a figure became: "+16 %", "−0.6 %", "±0". */
export function changeWords(before: number, after: number): string {
  if (!(before > 0) || !Number.isFinite(after)) return "";
  const c = after / before - 1;
  if (Math.abs(c) < 0.0005) return "±0";
  return c > 0 ? `+${percent(c)}` : percent(c);
}

/** The same of a quantile, which is an estimate. */
export function roughChange(before: number, after: number): string {
  const words = changeWords(before, after);
  return words === "" ? "" : `~${words}`;
}

const UNIT_NS: Record<string, number> = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };

/** A profile's value in its unit. */
export function value(n: number, unit: string): string {
  const ns = UNIT_NS[unit];
  if (ns !== undefined) return duration(n * ns);
  if (unit === "bytes") return bytes(n);
  return unit === "" || unit === "count" ? count(n) : `${count(n)} ${unit}`;
}

export function signed(text: string, n: number): string {
  return n > 0 ? `+${text}` : text.replace(/^(~?)-/, "$1\u2212");
}

export function rate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 0.1 / 60) return `${short(perSecond * 3600)}/h`;
  if (perSecond > 0 && perSecond < 0.1) return `${short(perSecond * 60)}/min`;
  return `${count(perSecond)}/s`;
}

/** Local time with its zone, to the millisecond. */
export function moment(ms: number): string {
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  const minutes = -d.getTimezoneOffset();
  const sign = minutes < 0 ? "-" : "+";
  const zone = minutes === 0 ? "UTC" : `UTC${sign}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  const day = `${String(d.getFullYear())}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  const time = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, "0")}`;
  return `${day} ${time} ${zone}`;
}

/** A moment on an axis: as little of it as tells it from the others. */
export function clock(ms: number, spanMs: number): string {
  const text = moment(ms);
  return spanMs > 36 * 3600e3 ? text.slice(5, 16) : spanMs > 600e3 ? text.slice(11, 16) : text.slice(11, 19);
}

/** Unix nanoseconds, as text, to milliseconds with a fraction. */
export function nanoToMs(text: string): number {
  return Number(text.slice(0, -6) || "0") + Number(text.slice(-6)) / 1e6;
}

/** Stands before every figure that is an estimate, as in the program's text. */
export const ESTIMATE = "~";

/** What the figures of a flame graph are: their unit, and how far they may be said. */
export interface Measure {
  readonly unit: string;
  readonly isEstimate: boolean;
  /** Samples that are too few for times, and the value of all of them; 0: they are enough */
  readonly few: number;
  readonly whole: number;
}

export function measureOf(p: { unit: string; total: number; isEstimate?: boolean; isFew?: boolean; looks?: number }): Measure {
  return { unit: p.unit, isEstimate: p.isEstimate === true, few: p.isFew === true ? Math.max(1, Math.round(p.looks ?? 1)) : 0, whole: p.total };
}

/** An amount as the server's own texts say it: "~" before an estimate, "2 samples" where there are too few for times. */
export function amount(n: number, m: Measure): string {
  const mark = m.isEstimate ? ESTIMATE : "";
  if (m.few === 0 || m.whole === 0) return mark + value(n, m.unit);
  return mark + samples(Math.round((m.few * n) / m.whole));
}

export function samples(n: number): string {
  return `${String(Math.round(n))} ${Math.round(n) === 1 ? "sample" : "samples"}`;
}

export function share(n: number, m: Measure): string {
  return (m.isEstimate ? ESTIMATE : "") + percent(n);
}
