import { nameOf, type Tree } from "./tree";

export interface Matches {
  /** One byte per frame */
  readonly frames: Uint8Array;
  readonly nodes: number;
  /** Of everything, what passes through a match */
  readonly share: number;
  readonly value: number;
}

/** A regular expression, or the text itself when it is none. Case matters only if the text has upper case. */
export function patternOf(text: string): RegExp {
  const flags = /[A-Z]/.test(text) ? "" : "i";
  try {
    return new RegExp(text, flags);
  } catch {
    return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
  }
}

/** What finds a function by its whole name, as it is. */
export function exactly(name: string): string {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
}

export function search(t: Tree, text: string): Matches | undefined {
  if (text === "") return undefined;
  const pattern = patternOf(text);
  const frames = new Uint8Array(t.frames.length);
  t.frames.forEach((f, i) => {
    if (pattern.test(f.function)) frames[i] = 1;
  });
  const inside = new Uint8Array(t.n);
  let nodes = 0;
  let value = 0;
  let size = 0;
  for (let i = 1; i < t.n; i++) {
    const hit = frames[t.frame[i] ?? 0] === 1;
    const above = inside[t.parent[i] ?? 0] === 1;
    if (hit) nodes++;
    if (hit && !above) {
      value += t.total[i] ?? 0;
      size += t.size[i] ?? 0;
    }
    inside[i] = hit || above ? 1 : 0;
  }
  const whole = t.size[0] ?? 0;
  return { frames, nodes, value, share: whole > 0 ? size / whole : 0 };
}

/** The widest node of that function; -1: none. */
export function widest(t: Tree, name: string): number {
  let best = -1;
  for (let i = 1; i < t.n; i++) if (nameOf(t, i) === name && (best < 0 || (t.size[i] ?? 0) > (t.size[best] ?? 0))) best = i;
  return best;
}
