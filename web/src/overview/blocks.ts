// How sure a change of a figure is: both periods are cut into parts of equal length, and the figure's spread over the parts of a
// period is its error ("batch means"). Requests that follow one another are alike, and parts are long enough that most of this is
// inside of a part; an error from single requests would be too small.

export const BLOCKS = 10;
/** Parts with data that each period needs. */
export const LEAST_BLOCKS = 5;
/** The figures of the strip are judged together: 99 % for each of five is 95 % for all. */
const Z = 2.576;

/** A part of the time: the sum of something, and what it is divided by. */
export interface Part {
  readonly n: number;
  readonly d: number;
}
export interface Estimate {
  readonly value: number;
  readonly variance: number;
  readonly parts: number;
}
export interface Moved {
  readonly delta: number;
  readonly low: number;
  readonly high: number;
}

/** Student's t for two sides, by the expansion of Cornish and Fisher around the normal quantile; from 4 degrees of freedom on within 2 %. */
export function student(z: number, df: number): number {
  const [z3, z5, z7] = [z ** 3, z ** 5, z ** 7];
  return z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df ** 2) + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df ** 3);
}

/** The ratio of sums and its variance (linearised); parts without a denominator are left out. Undefined: too few parts. */
export function ratioOf(all: readonly Part[]): Estimate | undefined {
  const parts = all.filter((p) => p.d > 0);
  if (parts.length < LEAST_BLOCKS) return undefined;
  const d = parts.reduce((sum, p) => sum + p.d, 0);
  const value = parts.reduce((sum, p) => sum + p.n, 0) / d;
  const squares = parts.reduce((sum, p) => sum + (p.n - value * p.d) ** 2, 0);
  return { value, variance: ((parts.length / (parts.length - 1)) * squares) / (d * d), parts: parts.length };
}

/** The difference with its interval: Welch's, whose degrees of freedom are those of the less certain side. */
export function movedOf(before: Estimate | undefined, after: Estimate | undefined): Moved | undefined {
  if (!before || !after) return undefined;
  const [a, b] = [before.variance, after.variance];
  const df = a + b > 0 ? (a + b) ** 2 / (a ** 2 / (before.parts - 1) + b ** 2 / (after.parts - 1)) : Infinity;
  const half = (df === Infinity ? Z : student(Z, Math.max(4, df))) * Math.sqrt(a + b);
  const delta = after.value - before.value;
  return { delta, low: delta - half, high: delta + half };
}

/** Sums of a series over the parts of a period; null where it has no value. A point stands for the step that ends at its time. */
export function partsOf(samples: readonly { readonly ms: number; readonly value: number }[], period: { readonly fromMs: number; readonly untilMs: number }, stepMs: number): (number[] | null)[] {
  const out: (number[] | null)[] = Array.from({ length: BLOCKS }, () => null);
  const length = (period.untilMs - period.fromMs) / BLOCKS;
  for (const { ms, value } of samples) {
    const at = Math.floor((ms - stepMs / 2 - period.fromMs) / length);
    if (at >= 0 && at < BLOCKS) out[at] = [...(out[at] ?? []), value];
  }
  return out;
}

const meanOf = (some: readonly number[]) => some.reduce((n, v) => n + v, 0) / some.length;

/** A mean over time and its error; parts without values are left out. */
export function spreadOf(parts: readonly (readonly number[] | null)[]): Estimate | undefined {
  return ratioOf(parts.flatMap((some) => (some && some.length > 0 ? [{ n: meanOf(some), d: 1 }] : [])));
}
