// What a flame graph looks like, as keys of the address: one letter each behind a prefix.

import { useCallback, useMemo } from "preact/hooks";
import { change as changeUrl, type Params } from "../state/url";
import { useUrl } from "../state/use_url";
import type { DiffBy } from "./colors";
import type { Fold, Group, Look } from "./transform";

export type Mode = "graph" | "both" | "table" | "calls" | "sandwich" | "time";
export type Change = (some: Readonly<Record<string, string | undefined>>, replace?: boolean) => void;

export interface FlameState {
  readonly mode: Mode;
  /** undefined: the graph's own choice */
  readonly icicle: boolean | undefined;
  readonly search: string;
  readonly look: Look;
  /** Place of the bar that is as wide as the canvas */
  readonly place: string;
  /** undefined: the graph's own choice */
  readonly diffBy: DiffBy | undefined;
  /** Whose callers and callees the sandwich shows */
  readonly centre: string;
  /** Only stacks through this function */
  readonly focus: string;
  readonly isTimed: boolean;
  readonly thread: number;
  /** Of the order of time: which part of it is shown, "from-until" in nanoseconds */
  readonly stretch: string;
  readonly picked: string;
  /** Of the call tree: what 100 % is, and which rows are turned */
  readonly base: string;
  readonly turned: string;
  /** Frames that start the thread are shown, too */
  readonly hasStart: boolean;
}

/** The keys of one graph, without what tells it from another. */
function keysOf(all: Params, prefix: string): Params {
  const out: Record<string, string> = {};
  for (const [k, v] of Object.entries(all)) if (k.length === prefix.length + 1 && k.startsWith(prefix)) out[k.slice(prefix.length)] = v;
  return out;
}

function oneOf<T extends string>(text: string | undefined, of: readonly T[], otherwise: T): T {
  return of.find((t) => t === text) ?? otherwise;
}

export function stateOf(url: Params): FlameState {
  const hide = url["h"] ?? "";
  const by = oneOf(url["d"], ["absolute", "relative", "request", ""], "");
  return {
    mode: oneOf<Mode>(url["v"], ["graph", "both", "table", "calls", "sandwich", "time"], "graph"),
    icicle: url["i"] === "1" ? true : url["i"] === "0" ? false : undefined,
    search: url["s"] ?? "",
    look: {
      group: oneOf<Group>(url["g"], ["function", "line", "package", "file"], "function"),
      fold: oneOf<Fold>(url["f"], ["", "kernel", "library"], ""),
      collapse: url["r"] === "1",
      hide: hide === "" ? [] : hide.split("\n"),
    },
    place: url["z"] ?? "",
    diffBy: by === "" ? undefined : by,
    centre: url["w"] ?? "",
    focus: url["x"] ?? "",
    isTimed: url["c"] === "1",
    thread: Number(url["n"] ?? "0") || 0,
    stretch: url["k"] ?? "",
    picked: url["p"] ?? "",
    base: url["b"] ?? "",
    turned: url["o"] ?? "",
    hasStart: url["l"] === "1",
  };
}

export function useFlameState(prefix: string): readonly [FlameState, Change] {
  const all = useUrl();
  const url = useMemo(() => keysOf(all, prefix), [all, prefix]);
  const change = useCallback<Change>(
    (some, replace = false) => changeUrl(Object.fromEntries(Object.entries(some).map(([k, v]) => [prefix + k, v])), replace),
    [prefix],
  );
  const state = useMemo(() => stateOf(url), [url]);
  // A look that is equal stays the same object: trees are made again when it changes.
  const look = useMemo(() => state.look, [JSON.stringify(state.look)]);
  return [useMemo(() => ({ ...state, look }), [state, look]), change];
}
