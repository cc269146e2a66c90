// Matchers of labels as they stand in a selector: env="prod", host=~"a|b".

export const OPS = ["=", "!=", "=~", "!~"] as const;
export type Op = (typeof OPS)[number];

export interface Matcher {
  readonly name: string;
  readonly op: Op;
  readonly value: string;
}

const ONE = /^\s*([a-zA-Z_][a-zA-Z0-9_.]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")\s*(,|$)/;

/** undefined: not a list of matchers; somebody wrote it by hand. */
export function matchersOf(text: string): Matcher[] | undefined {
  const out: Matcher[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const m = ONE.exec(rest);
    if (!m) return undefined;
    let value: unknown;
    try {
      value = JSON.parse(m[3] ?? "");
    } catch {
      return undefined;
    }
    if (typeof value !== "string") return undefined;
    out.push({ name: m[1] ?? "", op: m[2] as Op, value });
    rest = rest.slice(m[0].length).trim();
  }
  return out;
}

export function textOf(matchers: readonly Matcher[]): string {
  return matchers.map((m) => `${m.name}${m.op}${JSON.stringify(m.value)}`).join(", ");
}

/** One more; an equal one is there once. */
export function withMatcher(matchers: readonly Matcher[], m: Matcher): Matcher[] {
  return [...matchers.filter((o) => o.name !== m.name || o.op !== m.op || o.value !== m.value), m];
}
