// A service map without physics: rows by the longest way from an entry, places by the mean of the callers. The same calls
// give the same picture.

export interface Call {
  readonly parent: string;
  readonly child: string;
  readonly callCount: number;
}
export interface Place {
  readonly name: string;
  readonly layer: number;
  /** In its row, from 0 */
  readonly at: number;
}
export interface Layout {
  readonly places: readonly Place[];
  readonly layers: number;
  readonly widest: number;
}

export function layoutOf(names: readonly string[], calls: readonly Call[]): Layout {
  const all = [...new Set([...names, ...calls.flatMap((c) => [c.parent, c.child])])].sort();
  const out = new Map<string, string[]>();
  const into = new Map<string, string[]>();
  for (const c of calls) {
    if (c.parent === c.child) continue;
    out.set(c.parent, [...(out.get(c.parent) ?? []), c.child].sort());
    into.set(c.child, [...(into.get(c.child) ?? []), c.parent].sort());
  }
  // Calls that lead back to a caller are left out of the order; what remains has one.
  const layer = new Map<string, number>();
  const state = new Map<string, "open" | "done">();
  const order: string[] = [];
  const back = new Set<string>();
  const visit = (start: string) => {
    const stack: { name: string; at: number }[] = [{ name: start, at: 0 }];
    state.set(start, "open");
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (!top) break;
      const next = (out.get(top.name) ?? [])[top.at++];
      if (next === undefined) {
        state.set(top.name, "done");
        order.push(top.name);
        stack.pop();
      } else if (state.get(next) === "open") back.add(`${top.name}\0${next}`);
      else if (!state.has(next)) {
        state.set(next, "open");
        stack.push({ name: next, at: 0 });
      }
    }
  };
  for (const n of all) if ((into.get(n) ?? []).length === 0 && !state.has(n)) visit(n);
  for (const n of all) if (!state.has(n)) visit(n);
  order.reverse();
  for (const n of order) layer.set(n, layer.get(n) ?? 0);
  for (const n of order) for (const c of out.get(n) ?? []) if (!back.has(`${n}\0${c}`)) layer.set(c, Math.max(layer.get(c) ?? 0, (layer.get(n) ?? 0) + 1));
  const rows: string[][] = [];
  for (const n of all) (rows[layer.get(n) ?? 0] ??= []).push(n);
  const at = new Map<string, number>();
  rows.forEach((row) => {
    const mean = (n: string) => {
      const ups = (into.get(n) ?? []).filter((p) => at.has(p));
      return ups.length === 0 ? Infinity : ups.reduce((sum, p) => sum + (at.get(p) ?? 0), 0) / ups.length;
    };
    const means = new Map(row.map((n) => [n, mean(n)]));
    row.sort((a, b) => {
      const [x, y] = [means.get(a) ?? Infinity, means.get(b) ?? Infinity];
      return x === y ? (a < b ? -1 : 1) : x - y;
    });
    row.forEach((n, i) => at.set(n, row.length === 1 ? 0.5 : i / (row.length - 1)));
  });
  return { places: rows.flatMap((row, l) => row.map((name, i) => ({ name, layer: l, at: i }))), layers: rows.length, widest: Math.max(0, ...rows.map((r) => r.length)) };
}

/** Those within one call of the names. */
export function neighbours(names: ReadonlySet<string>, calls: readonly Call[]): Call[] {
  return calls.filter((c) => names.has(c.parent) || names.has(c.child));
}
