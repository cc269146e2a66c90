// Round places on axes.

const NICE = [1, 2, 5];
const TIMES_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600];
const DAY_S = 86400;

/** Steps of 1, 2 or 5 times a power of ten; at most `most` of them, from 0 to `end`. */
export function roundTicks(from: number, until: number, most: number): number[] {
  const span = until - from;
  if (!(span > 0)) return [];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (NICE.find((n) => n * power >= rough * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= until * (1 + 1e-9) && out.length <= 2 * most + 2; i++) out.push(i * step || 0);
  return out;
}

/** 1, 2, 5 times powers of ten between two values of a logarithmic axis, fewer where there is no space. */
export function logTicks(low: number, high: number, most: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const out: number[] = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) for (const n of NICE) {
    const v = n * 10 ** p;
    if (v >= low * 0.999 && v <= high * 1.001) out.push(v);
  }
  if (out.length < 3) return roundTicks(low, high, 4); // much less than a decade
  if (out.length <= most) return out;
  const tens = out.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
  return tens.length >= 2 ? tens : out.filter((_, i) => i % Math.ceil(out.length / most) === 0);
}

/** Round moments of local time. */
export function timeTicks(fromMs: number, untilMs: number, most: number): number[] {
  const want = (untilMs - fromMs) / 1e3 / Math.max(1, most);
  const zone = new Date(fromMs).getTimezoneOffset() * 60e3;
  const step = (TIMES_S.find((s) => s >= want) ?? Math.ceil(want / DAY_S) * DAY_S) * 1e3;
  const out: number[] = [];
  for (let at = Math.ceil((fromMs - zone) / step) * step + zone; at <= untilMs; at += step) out.push(at);
  return out;
}
