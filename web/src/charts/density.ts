// How durations are spread, from a few quantiles of them.

/** Quantiles at even steps, as a curve of `at.length` points: kernels over the middles of the steps. Its area is 1. */
export function densityOf(quantiles: readonly number[], at: readonly number[]): number[] {
  const middles = quantiles.slice(1).map((q, i) => (q + (quantiles[i] ?? q)) / 2);
  const n = middles.length;
  if (n === 0) return at.map(() => 0);
  const mean = middles.reduce((a, b) => a + b, 0) / n;
  const deviation = Math.sqrt(middles.reduce((a, b) => a + (b - mean) ** 2, 0) / n);
  const inner = ((middles[Math.floor(n * 0.75)] ?? mean) - (middles[Math.floor(n * 0.25)] ?? mean)) / 1.34;
  const range = (at[at.length - 1] ?? 1) - (at[0] ?? 0);
  const wide = Math.max(0.9 * (inner > 0 ? Math.min(deviation, inner) : deviation) * n ** -0.2, range / 200, 1e-12);
  return at.map((x) => middles.reduce((sum, m) => sum + Math.exp(-0.5 * ((x - m) / wide) ** 2), 0) / (n * wide * Math.sqrt(2 * Math.PI)));
}

export interface Scale {
  readonly isLog: boolean;
  readonly low: number;
  readonly high: number;
}

/** What both sides are drawn on: without the longest few, and by powers where one would hide the other. */
export function scaleOf(sides: readonly (readonly number[])[]): Scale {
  const all = sides.filter((s) => s.length > 1);
  const low = Math.min(...all.map((s) => s[0] ?? 0));
  const high = Math.max(...all.map((s) => s[s.length - 2] ?? 0), ...all.map((s) => s[Math.floor(s.length / 2)] ?? 0), low + 1);
  const isLog = low > 0 && high / low > 20;
  const room = isLog ? Math.log(high / low) * 0.06 : (high - low) * 0.06;
  return isLog ? { isLog, low: low / Math.exp(room), high: high * Math.exp(room) } : { isLog, low: Math.max(0, low - room), high: high + room };
}

/** 0 to 1 */
export function placeOn(s: Scale, v: number): number {
  return s.isLog ? Math.log(Math.max(v, s.low * 1e-3) / s.low) / Math.log(s.high / s.low) : (v - s.low) / (s.high - s.low || 1);
}
