// A tree whose small branches were cut, and which requests them where somebody looks.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, type Answer } from "../api/client";
import { transformed, type Look } from "./transform";
import { grafted, isCutBelow, nodeAtPlace, stackOf, type Tree } from "./tree";

/** What the server has below a stack, as the same kind of tree. */
export type Deeper = (stack: readonly string[], signal: AbortSignal) => Promise<Answer<Tree>>;

const AT_ONCE = 8;

interface Held {
  readonly from: Tree;
  readonly tree: Tree;
  /** Stacks that were requested */
  readonly known: ReadonlySet<string>;
}

/** The stacks of the uncut tree's nodes that became this bar, widest first; without those below one another. */
function stacksOf(t: Tree, to: Int32Array | undefined, node: number): string[][] {
  if (!to) return isCutBelow(t, node) ? [stackOf(t, node)] : [];
  const tops: number[] = [];
  for (let i = 1; i < t.n; i++) if (to[i] === node && (to[t.parent[i] ?? 0] ?? 0) !== node && isCutBelow(t, i)) tops.push(i);
  tops.sort((a, b) => (t.size[b] ?? 0) - (t.size[a] ?? 0));
  return tops.slice(0, AT_ONCE).map((i) => stackOf(t, i));
}

export interface Whole {
  readonly tree: Tree;
  readonly zoom: number;
  /** Still there: a bar "other" */
  readonly isCut: boolean;
  readonly isLoading: boolean;
  readonly error: ApiError | undefined;
}

/** `all`: everything, whatever is zoomed. */
export function useWhole(from: Tree, look: Look, place: string, deeper: Deeper | undefined, all: boolean): Whole {
  const [held, setHeld] = useState<Held>({ from, tree: from, known: new Set() });
  const [failed, setFailed] = useState<{ key: string; error: ApiError }>();
  const now = held.from === from ? held : { from, tree: from, known: new Set<string>() };
  const { tree, to } = useMemo(() => transformed(now.tree, look), [now.tree, look]);
  const zoom = useMemo(() => nodeAtPlace(tree, place), [tree, place]);
  const isCut = useMemo(() => deeper !== undefined && isCutBelow(now.tree, 0), [now.tree, deeper !== undefined]);
  const todo = useMemo(() => {
    if (!isCut) return [];
    const stacks = all ? [[]] : zoom > 0 ? stacksOf(now.tree, to, zoom) : [];
    return stacks.filter((s) => !now.known.has(s.join("\n")));
  }, [now.tree, to, zoom, all, isCut]);
  const key = todo.map((s) => s.join("\n")).join("\0");
  const next = todo[0];
  useEffect(() => {
    if (!deeper || next === undefined || failed?.key === key) return undefined;
    const stop = new AbortController();
    deeper(next, stop.signal)
      .then((a) => {
        if (!stop.signal.aborted) setHeld({ from, tree: grafted(now.tree, next, a.data), known: new Set(now.known).add(next.join("\n")) });
      })
      .catch((e: unknown) => {
        if (stop.signal.aborted) return;
        setFailed({ key, error: e instanceof ApiError ? e : new ApiError(0, e instanceof Error ? e.message : String(e), 0) });
      });
    return () => stop.abort();
  }, [key, now.tree, deeper]);
  const error = failed?.key === key && next !== undefined ? failed.error : undefined;
  return { tree, zoom, isCut, isLoading: next !== undefined && !error, error };
}
