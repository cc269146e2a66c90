// What 100 % is: it is named wherever a share is shown, and can be changed.

import { amount, value, type Measure } from "../format/units";

export interface Base {
  readonly name: string;
  readonly words: string;
  readonly value: number;
  /** A duration that was measured, whatever the samples of the graph are */
  readonly isMeasured?: boolean;
}

/** The graph's own sum is one of them, unless another one is as large. The first is what it begins with. */
export function basesOf(given: readonly Base[], words: string, total: number): Base[] {
  const isThere = given.some((b) => Math.abs(b.value - total) <= 1e-6 * Math.abs(total));
  return isThere ? [...given] : [...given, { name: "view", words, value: total }];
}

export function baseAmount(b: Base, measure: Measure): string {
  return b.isMeasured === true ? value(b.value, measure.unit) : amount(b.value, measure);
}
